package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/batch"
	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// walks explores the nodes at random: one walk after the other, each with a random number generator
// of its own that comes of the seed and the number of the walk.
type walks struct {
	*explorer
	kept.Walked
	crews [][]*sut.Worker  // those of a walk; the first ones are those of the explorer
	peers []beside.Answers // by crew; nil: there are no peers
}

// explore makes walks until one has a violation, or a bound is reached. Nothing is known of other
// executions, so the verdict is never that the nodes hold. Each walk depends only on the seed, its
// number, and what earlier ones have come to: that is what is saved.
func (x *walks) explore() error {
	var err error
	if x.Walked, err = kept.DecodeWalked(x.config.Resume, len(x.config.Nodes)); err != nil {
		return err
	}
	x.runs = x.Runs
	x.config.Progress.Ran(max(0, x.runs-x.config.Counted))
	x.crews = [][]*sut.Worker{x.workers}
	for len(x.crews) < min(x.config.Crews, batch.Most) {
		if err := x.start(); err != nil {
			return err
		}
		x.crews = append(x.crews, x.workers[len(x.crews)*len(x.config.Nodes):])
	}
	if g := x.config.Peers; g != nil {
		for range x.crews {
			x.peers = append(x.peers, g.New()) // which starts nobody yet
		}
		defer func() { x.notes = g.Undialled(x.Dialled) }()
	}
	for !x.enough() {
		x.save(false)
		err := cmp.Or(x.interrupted(), x.full())
		jobs := int(batch.End(x.Walks) - x.Walks)
		if n := x.config.Executions; err == nil && n > 0 {
			if jobs = min(jobs, (n-x.runs)/x.config.MostRuns()); jobs <= 0 {
				x.unknown = x.config.OverLimit()
				err = errEnough
			}
		}
		if err == nil {
			err = x.make(jobs)
		}
		switch {
		case errors.Is(err, errEnough):
			x.save(true)
		case err != nil && len(x.told) > 0: // what was found counts more
			x.unknown = err.Error()
		case err != nil:
			return err
		}
		if err != nil {
			break
		}
	}
	// Whoever reads this wants to know that a greater bound may show more.
	if x.Cut != "" && x.unknown != "" {
		x.Cut = "; " + x.Cut
	}
	x.unknown += x.Cut
	x.unknown += x.config.Properties.Why(x.unknown, x.Said)
	return nil
}

// save saves what is known, if nothing was found. Beside an exploration, walks go on even then.
func (x *walks) save(last bool) {
	if x.config.Save != nil && (len(x.told) == 0 || x.config.Walks.Beside) {
		x.Runs = x.runs
		x.config.Save(x.Walked.Encode, last)
	}
}

// make makes so many walks, which are of one batch. Those that come after one with a violation may
// not be made.
func (x *walks) make(jobs int) error {
	first := x.Walks + 1
	list := batch.Do(len(x.crews), jobs, func(crew, job int) (*taken, bool) {
		t := x.one(crew, rand.New(rand.NewPCG(x.config.Walks.Seed, first+uint64(job))))
		return t, t.err != nil || t.isWrong
	})
	for _, t := range list {
		if err := x.interrupted(); err != nil {
			return err
		}
		if t.err != nil {
			return t.err
		}
		x.take(t)
		if err := x.judge(t); err != nil || x.enough() {
			return err
		}
	}
	if x.Walks == batch.End(x.Walks-1) {
		x.Known = x.Next
	}
	return nil
}

// take notes what a walk has come to.
func (x *walks) take(t *taken) {
	x.Walks++
	x.runs += t.runs
	x.Next = x.Next.With(&t.known)
	x.Cut = cmp.Or(x.Cut, t.wasCut)
	x.Said = x.config.Properties.Add(x.Said, published.In(t.net.Data))
	maps.Copy(x.net.Nobody, t.net.Nobody)
	if t.peers != nil {
		x.Dialled = maps.Clone(x.Dialled) // what was saved may still be read
		maps.Copy(x.Dialled, t.peers.Dialled)
	}
}

// one makes one walk, by a crew.
func (x *walks) one(crew int, random *rand.Rand) *taken {
	net := *x.net
	net.Ordered, net.Data = ordered(len(net.Names)), map[network.Event][]byte{}
	net.Nobody = map[network.Stray]bool{}
	w := newWalk(&net, &x.config.Properties, random)
	w.cuts = x.Known.Cuts(random, x.config.Partitions, x.config.MostPartitions())
	w.slow = slow.New(x.Known.Spells(random, x.config.Slow))
	w.air.Weather = x.Known.Weather(random, x.config.Datagrams, x.config.DatagramLimit)
	t := &taken{walk: w, ends: make([]ended, len(w.members)), workers: x.crews[crew],
		known: pick.NewKnown(len(w.members))}
	if x.peers != nil {
		if w.peers, t.err = beside.New(x.config.Peers, &net, x.peers[crew], random); t.err != nil {
			return t
		}
	}
	for c, m := range w.members {
		t.schedules = append(t.schedules, x.schedule(c, random))
		if slices.Contains(x.config.Crashes, c) {
			m.crashes = x.Known.Crashes(random, c, x.config.CrashLimit)
		}
		if slices.Contains(x.config.Pauses, c) {
			m.pauses = x.Known.Pauses(random, x.config.PauseLimit)
		}
	}
	// The schedules are drawn before anything runs, and in the order of the nodes: so a seed gives
	// the same walk, whatever the processors do.
	//
	// One node of a walk runs at a time, so what they note needs no lock.
	defer sut.Together(t.workers)()
	w.run(func(m *member) string {
		over, err := x.play(t, m)
		if err != nil {
			t.err = errors.Join(t.err, fmt.Errorf("node %s: %w", net.Names[m.Node], err))
		}
		return over
	})
	t.err = errors.Join(t.err, w.err)
	if w.isCut {
		t.wasCut = cmp.Or(t.wasCut, w.over)
	}
	t.known.Ticks, t.known.Events, t.known.Datagrams = w.ticks, w.events, w.air.Weather.Sent()
	if t.err == nil {
		t.global = make(skeleton.Global, len(t.members))
	}
	for c, m := range t.members {
		if t.err == nil {
			e := &t.ends[c]
			t.global[c] = skeleton.Local{Events: m.Made, Ended: true, Waits: m.WaitsFor(e.log)}
			t.isWrong = t.isWrong || !m.stopped && e.outcome.Violation()
		}
	}
	if t.peers != nil && t.err == nil {
		t.global = append(t.global, t.peers.Local())
	}
	return t
}

// taken is a walk that was made.
type taken struct {
	*walk
	workers   []*sut.Worker
	schedules []sut.Schedule // those with which they begin
	ends      []ended        // of the nodes
	global    skeleton.Global
	runs      int
	known     pick.Known // of this walk
	wasCut    string
	isWrong   bool // there may be a violation
	err       error
}

// ended is how a node has ended in a walk, and what it has done in each of its lives: what can be
// run again. The log is valid until the next execution.
type ended struct {
	log     *sut.Log
	outcome model.Outcome
	race    *sut.MemoryAccess // the earlier access of a data race
	lives   []sut.Schedule
}

// play runs a node in a walk, as often as it comes back after a crash, and says why the walk is to
// end because of this.
func (x *walks) play(t *taken, m *member) (over string, err error) {
	for s := t.schedules[m.Node]; ; {
		over, err := x.live(t, m, s)
		if err != nil || over != "" || t.ends[m.Node].log.Outcome != sut.Crashed || !m.comesBack() {
			return over, err
		}
		disk := slices.Clone(t.ends[m.Node].log.Disk)
		s = x.schedule(m.Node, t.random)
		s.Disk, s.After = disk, m.Now
	}
}

// live runs a node until it ends, or crashes.
func (x *walks) live(t *taken, m *member, s sut.Schedule) (over string, err error) {
	log, err := t.workers[m.Node].Run(s, m)
	if err != nil {
		return "another node has failed", err
	}
	if log.Outcome == sut.Refused {
		return "another node cannot be checked", fmt.Errorf("it cannot be checked: %s", log.Message)
	}
	t.runs++
	x.config.Progress.Ran(1)
	outcome, err := translate.Outcome(log)
	if err != nil {
		return "another node has failed", err
	}
	e := &t.ends[m.Node]
	e.log, e.outcome, e.race = log, outcome, log.Race.First()
	life := sut.Schedule{Prefix: course.ChoicesOf(log.Events), Beginning: sut.Beginning{Draws: s.Draws},
		Rounds: s.Rounds, WantLeaks: s.WantLeaks}
	e.lives = append(e.lives, life)
	k, c := &t.known, m.Node
	k.Lengths[c] = max(k.Lengths[c], len(life.Prefix))
	k.Count(c, log.RarePoints)
	k.Inputs[c], k.Disks[c] = max(k.Inputs[c], m.Input), max(k.Disks[c], m.disks)
	switch {
	case m.stopped:
	case outcome == model.StepLimit:
		// Nobody knows what it would do next. So nothing that comes of its end counts.
		m.stopped = true
		t.wasCut = cmp.Or(t.wasCut, "executions of node "+x.net.Names[m.Node]+" were cut off: "+
			cmp.Or(log.Message, log.Outcome.String()))
		return "another node was cut off", nil
	default:
		m.look()
		m.End(log)
		if outcome.Violation() && !outcome.Stuck() {
			return "another node has a violation", nil
		}
	}
	return "", nil
}

// schedule has goroutines of a node be picked at random, and gives it random numbers of its own.
func (x *walks) schedule(node int, random *rand.Rand) sut.Schedule {
	s := x.config.Walks.Schedule(random, x.Lengths[node])
	s.Rounds, s.Steps, s.WantLeaks = maxRounds, x.config.Depth, x.config.Leaks
	s.Rare = x.Known.RareEvents(random, node)
	return s
}

// judge notes the first violation of a walk that is not known. A deadlock is one only if nobody
// goes on, and the network has healed.
func (x *walks) judge(t *taken) error {
	g := t.global
	for c, m := range t.members {
		e := &t.ends[c]
		if m.stopped || !x.judges(t, g, e.outcome) {
			continue
		}
		if e.outcome.Stuck() {
			if err := network.NeverListens(x.net, g); err != nil {
				return err
			}
		}
		v := &Violation{Node: t.net.Names[c], Outcome: e.outcome, Events: told.Steps(t.net, g)}
		p := recorder{x.explorer}.player(g, c)
		p.net = t.net
		// What was chosen is known. So it can be run again without anything at random, with all
		// nodes at the same time.
		for i, other := range t.members {
			lives := t.ends[i].lives
			p.schedules[i], p.later = lives[0], append(p.later, lives[1:])
			p.timing = append(p.timing, other.timing)
		}
		if err := x.record(v, p, e.race); err != nil {
			return err
		}
		if !x.IsNew(v.Signature) {
			continue
		}
		x.told, x.result.Violations = append(x.told, v), append(x.result.Violations, v)
		break // what comes of the same walk may be the same
	}
	return nil
}

// judges looks at how a node has ended: a node that others keep from going on is no violation while
// they may still go on. It notes an outcome, and says whether it is a violation.
func (x *walks) judges(t *taken, g skeleton.Global, o model.Outcome) bool {
	if o.Stuck() && (!t.rests || !t.net.IsWhole(g)) {
		return false
	}
	x.result.Comes(o.String())
	return o.Violation()
}

// record runs a walk again, with all nodes together, and fills in what people want to see of its
// violation.
func (x *walks) record(v *Violation, p *player, race *sut.MemoryAccess) error {
	all, parted, err := p.run()
	switch {
	case x.ctx.Err() != nil:
		v.Unrecorded = told.NotInTime
		return nil
	case err != nil:
		return err
	case parted != nil:
		v.Unrecorded = parted.String()
	case all[p.judged].outcome != v.Outcome:
		v.Unrecorded = fmt.Sprintf("run again, node %s ended with %q", v.Node, all[p.judged].Outcome)
	}
	if v.Counterexample, v.Signature, err = p.show(race); err != nil && x.ctx.Err() != nil {
		v.Unrecorded, err = told.NotInTime, nil
	}
	if err != nil || v.Unrecorded != "" {
		return err
	}
	recorder{x.explorer}.keep(v, p, all)
	return nil
}
