package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A model of a search: a tree of inputs that is gone through depth first, and peers that have to be
// brought to where it goes on. It counts what that costs, in milliseconds.

type modelNode struct {
	parent   *modelNode
	children []*modelNode
	cost     float64 // of the input
	answered bool
	connects bool
	reads    int
	image    bool
}

type modelCosts struct{ checkpoint, restore, restart, guess float64 }

// drawTree draws a tree of some depth; branching is the probability of another alternative.
func drawTree(r *rand.Rand, depth int, branching, scale, answered, reads float64) *modelNode {
	leaves := 400
	var grow func(n *modelNode, depth int)
	grow = func(n *modelNode, depth int) {
		if depth == 0 {
			return
		}
		for alternatives := 1; alternatives > 0; alternatives-- {
			child := &modelNode{parent: n, cost: scale * (0.5 + r.Float64()),
				answered: r.Float64() < answered, connects: r.Float64() < 0.1}
			if r.Float64() < reads {
				child.reads = 1
			}
			n.children = append(n.children, child)
			if leaves > 0 && len(n.children) < 5 && r.Float64() < branching {
				alternatives++
				leaves--
			}
		}
		for _, child := range n.children {
			grow(child, depth-1)
		}
	}
	root := &modelNode{}
	if reads > 0 {
		root.reads = 1
	}
	grow(root, depth)
	return root
}

// model is a search under way.
type model struct {
	costs           modelCosts
	strategy        Strategy
	group           *modelNode
	total           float64
	given           float64 // for inputs
	inputs, all     int     // that were new; that were given
	returns, images int
}

func (m *model) save(n *modelNode) {
	n.image = true
	m.images++
	m.total += m.costs.checkpoint
}

// since is how far the nearest image is.
func since(n *modelNode) (inputs, depth int) {
	found := false
	for ; n.parent != nil; n = n.parent {
		if found = found || n.image; !found {
			inputs++
		}
		depth++
	}
	return inputs, depth
}

func (m *model) give(n *modelNode) {
	m.total += n.cost
	m.given += n.cost
	m.all++
	m.group = n
}

// discover gives an input for the first time.
func (m *model) discover(n *modelNode) {
	m.give(n)
	m.inputs++
	step := Step{Kind: Send, Reads: n.reads, Inputs: m.inputs, Returns: m.returns, Images: m.images}
	if n.connects {
		step.Kind = Connect
	}
	if n.answered {
		step.ResponseBytes, step.Answered = 10, true
	}
	step.SincePhysical, step.Depth = since(n)
	step.Cost = m.known()
	step.Replay = milliseconds(m.given / float64(m.all) * float64(step.SincePhysical))
	if m.strategy.Checkpoint(step) {
		m.save(n)
	}
}

// stand brings the group to a place, through which so many more executions are expected to go.
func (m *model) stand(to *modelNode, forecast float64) {
	var way []*modelNode
	n := to
	for ; n != m.group && n.parent != nil && !n.image; n = n.parent {
		way = append(way, n)
	}
	if n != m.group {
		m.returns++
		if n.image {
			m.group, m.total = n, m.total+m.costs.restore
		} else {
			m.total += m.costs.restart
			m.start(n)
		}
	}
	for _, n := range slices.Backward(way) {
		m.give(n)
	}
	if len(way) == 0 {
		return
	}
	step := Step{Kind: Return, SincePhysical: len(way), Inputs: m.inputs, Returns: m.returns,
		Images: m.images, Forecast: forecast, Cost: m.known()}
	step.Replay = milliseconds(m.given / float64(m.all) * float64(len(way)))
	if m.strategy.Checkpoint(step) {
		m.save(to)
	}
}

// search returns how many executions there are from a place on.
func (m *model) search(n *modelNode) (executions int) {
	for i, child := range n.children {
		each := float64(executions) / float64(max(1, i))
		m.stand(n, each*float64(len(n.children)-i)-1)
		m.discover(child)
		executions += m.search(child)
	}
	return max(1, executions)
}

// costOf is what a search costs with a strategy.
func costOf(root *modelNode, c modelCosts, s Strategy) float64 {
	var clear func(n *modelNode)
	clear = func(n *modelNode) {
		n.image = false
		for _, child := range n.children {
			clear(child)
		}
	}
	clear(root)
	m := &model{costs: c, strategy: s, total: c.restart}
	m.start(root)
	m.search(root)
	return m.total
}

// start starts the peers.
func (m *model) start(root *modelNode) {
	m.group = root
	step := Step{Kind: Start, Reads: root.reads, Returns: m.returns, Replay: milliseconds(m.costs.restart)}
	step.Cost = m.known()
	if m.strategy.Checkpoint(step) {
		m.save(root)
	}
}

// known is what a checkpoint is taken to cost: before the first of them that is a guess.
func (m *model) known() time.Duration {
	if m.images == 0 {
		return milliseconds(m.costs.checkpoint * m.costs.guess)
	}
	return milliseconds(m.costs.checkpoint)
}

func milliseconds(t float64) time.Duration { return time.Duration(t * float64(time.Millisecond)) }

// TestAdaptiveInModel compares adaptive with the best of the others, each time the best one for a
// random tree and random costs, over three orders of magnitude. It knows no more of the tree than
// what was gone through, so it is not always the best; every other one is many times worse than the
// best one somewhere.
func TestAdaptiveInModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	magnitudes := func(from, to float64) float64 { return math.Pow(10, from+r.Float64()*(to-from)) }
	ratios := map[string][]float64{}
	for range 1000 {
		reads := []float64{0, 0, 0.1, 0.5}[r.IntN(4)]
		tree := drawTree(r, 3+r.IntN(60), []float64{0.02, 0.05, 0.1, 0.2}[r.IntN(4)], magnitudes(-2, 1),
			r.Float64(), reads)
		costs := modelCosts{checkpoint: magnitudes(-1, 2), restore: magnitudes(-1, 2),
			guess: magnitudes(-0.5, 0.5)}
		costs.restart = costs.restore * (1 + 4*r.Float64())
		best, cost := math.Inf(1), map[string]float64{}
		for _, n := range named {
			if n.name == "never" && reads > 0 {
				continue // it is unfit for peers that read
			}
			if cost[n.name] = costOf(tree, costs, n.strategy); n.name != "adaptive" {
				best = min(best, cost[n.name])
			}
		}
		for name, c := range cost {
			ratios[name] = append(ratios[name], c/best)
		}
	}
	for _, name := range Names() {
		list := slices.Sorted(slices.Values(ratios[name]))
		mean, within := 0.0, 0
		for _, ratio := range list {
			mean += ratio / float64(len(list))
			if ratio <= 1.1 {
				within++
			}
		}
		worst := list[len(list)-1]
		t.Logf("%-13s cost against the best of the others: mean %.2f, median %.2f, worst %.1f; within 1.1 "+
			"of it: %d of %d",
			name, mean, list[len(list)/2], worst, within, len(list))
		if name == "adaptive" && (mean > 1.02 || worst > 2 || within < len(list)*93/100) {
			t.Error("adaptive is worse than it was")
		}
	}
}

// TestAdaptiveSavesWhatIsExpensive: before the search has come back at all, what six checkpoints
// would pay for is saved.
func TestAdaptiveSavesWhatIsExpensive(t *testing.T) {
	const cost = 3 * time.Millisecond
	for replay, want := range map[time.Duration]bool{5 * cost: false, 6 * cost: true} {
		for _, inputs := range []int{1, 100} {
			step := Step{Kind: Connect, Depth: 1, SincePhysical: 1, Inputs: inputs, Replay: replay,
				Cost: cost}
			if got := (Adaptive{}).Checkpoint(step); got != want {
				t.Errorf("after %d inputs, of which the last took %v: %v", inputs, replay, got)
			}
		}
	}
	if (Adaptive{}).Checkpoint(Step{Kind: Return, Replay: time.Second, Cost: cost}) {
		t.Error("a checkpoint where there is one")
	}
}
