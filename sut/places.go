package sut

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/placing"
)

// places are states of the program, on the path of the last execution, from which the next one can
// begin. What an execution from there does not do again, and somebody above would miss, is done
// here: the inputs to the peers are given once more, and the output is put together.
type places struct {
	off bool // no place is kept
	gap int  // see Options.PlaceGap

	like    alike
	steps   []step // of the last execution
	kept    []kept // on its path, in ascending order
	wanted  []abi.SharedKeep
	regions int // see Process.Regions

	exchanges      []exchanged // of the last execution, or of the present one
	events         []Event     // of the last execution
	stdout, stderr []byte      // of the last execution

	from  kept // where the present execution begins; zero: at main.main
	began time.Time
	took  time.Duration
	cost  placing.Cost
}

// alike is what two schedules must have in common besides their beginnings, if an execution of one
// is to begin at a place of the other.
type alike struct {
	wantEnabled, wantLeaks, peers bool
	steps, rounds, early          int
	preemptions, delays           uint32
	draws                         uint64
	after                         time.Duration
}

// step is a choice that was made.
type step struct {
	model.Action
	event int // which begins the transition
}

// kept is a place that a worker keeps.
type kept struct {
	slot uint32
	abi.SharedPlace
}

// exchanged is an input and its answer.
type exchanged struct {
	in     model.Input
	answer model.Answer
	err    error
	events int // in the log before it
}

// isPlain reports whether the execution of a schedule may begin at a place, and keep places. If
// goroutines are picked beyond the prefix by more than the present state, it may not: what that
// depends on is partly in the shared memory. Nor may it if its log is not whole, or has details.
func isPlain(s *Schedule) bool {
	return s.Seed == 0 && s.Priorities == nil && !s.PartialOrder && s.Walk == nil && len(s.Holds) == 0 &&
		len(s.Rare) == 0 && !s.Lenient && !s.OnlyEnd && s.Show == nil
}

// begin prepares an execution: where it begins, and which places it is to keep. It gives the inputs
// to the peers that the execution will not give, and returns who answers the others.
func (p *places) begin(sh *abi.SharedPlaces, s *Schedule, peers Peers) Peers {
	sh.Resume, sh.Keeps, sh.Active, sh.At, sh.Next = 0, 0, 0, 0, abi.NoPosition
	p.from = kept{}
	if p.off || !isPlain(s) {
		p.forget()
		return peers
	}
	like := alike{s.WantEnabled, s.WantLeaks, peers != nil, s.Steps, s.Rounds, s.EarlyTimers,
		limit(s.Preemptions), limit(s.Delays), s.Draws, s.After}
	if like != p.like {
		p.forget()
	}
	p.like = like
	branch := p.common(s)
	// Places behind the branch are on a path that is left for good: a search goes deep first.
	p.kept = p.kept[:placing.Before(len(p.kept), branch, p.position)]
	peers = p.again(peers)
	from := 0
	if n := len(p.kept); n > 0 {
		p.from = p.kept[n-1]
		sh.Resume, from = p.from.slot+1, int(p.from.Position)
	}
	p.exchanges = p.exchanges[:p.from.Exchanges]
	p.want(sh, from, branch)
	sh.Active = flag(len(p.kept)+len(p.wanted) > 0)
	p.began = time.Now()
	return peers
}

// position is that of a place that is kept.
func (p *places) position(i int) int { return int(p.kept[i].Position) }

// common is how many choices of the last execution a schedule has at its beginning, up to where
// something sleeps.
func (p *places) common(s *Schedule) int {
	n := min(len(p.steps), len(s.Prefix))
	if len(s.Sleep) > 0 {
		n = min(n, s.SleepFrom)
	}
	for i := range n {
		if p.steps[i].Action != s.Prefix[i] {
			return i
		}
	}
	return n
}

// want says where places are to be kept. Slots that are free are those of no place before.
func (p *places) want(sh *abi.SharedPlaces, from, branch int) {
	p.wanted = p.wanted[:0]
	if sh.SlotBytes == 0 {
		return // no execution has been yet
	}
	slots := int(min(abi.MaxPlaces, abi.PlaceBytes/sh.SlotBytes))
	gap := cmp.Or(p.gap, p.cost.Gap(sh.SlotBytes))
	positions := placing.Positions(from, branch, len(p.steps), gap)
	for len(p.kept)+len(positions) > slots {
		i := placing.Least(len(p.kept)-1, branch, p.position) // not the last, where it begins
		if i < 0 {
			positions = positions[:max(0, slots-len(p.kept))]
			break
		}
		p.kept = slices.Delete(p.kept, i, i+1)
	}
	slot := uint32(0)
	for _, at := range positions {
		for slices.ContainsFunc(p.kept, func(k kept) bool { return k.slot == slot }) {
			slot++
		}
		sh.Keep[len(p.wanted)] = abi.SharedKeep{Position: uint32(at), Slot: slot}
		p.wanted = append(p.wanted, sh.Keep[len(p.wanted)])
		sh.Place[slot].Kept = 0
		slot++
	}
	if sh.Keeps = uint32(len(p.wanted)); sh.Keeps > 0 {
		sh.Next = p.wanted[0].Position
	}
}

// ended is called when an execution has ended.
func (p *places) ended() {
	if !p.off {
		p.took = time.Since(p.began)
	}
}

// end takes note of an execution, and of the places that it has kept.
func (p *places) end(sh *abi.Shared, regions int, log *Log, same int) {
	if p.off || p.like == (alike{}) {
		return
	}
	p.cost.Note(p.took, int(sh.Steps)-int(p.from.Steps), len(p.wanted))
	p.events = log.Events
	n := len(p.steps)
	for n > 0 && p.steps[n-1].event >= same {
		n--
	}
	if p.steps = p.steps[:n]; n == 0 {
		same = 0 // those before it may have been forgotten
	}
	for i := same; i < len(log.Events); i++ {
		if e := &log.Events[i]; e.Kind == Stepped {
			p.steps = append(p.steps, step{e.Action(), i})
		}
	}
	// A place lacks the pages that no execution had written when it was kept.
	if regions != p.regions {
		p.kept, p.regions = p.kept[:0], regions
		return
	}
	for _, k := range p.wanted {
		at := sh.Places.Place[k.Slot]
		if at.Kept == 0 {
			continue
		}
		if !p.isOnPath(&at) {
			p.forget()
			return
		}
		p.kept = append(p.kept, kept{k.Slot, at})
	}
	p.kept = slices.DeleteFunc(p.kept, func(k kept) bool { return k.Position < sh.Places.Lost })
}

// isOnPath reports whether a place is where the log says that its position is. The program may have
// written over what the worker says.
func (p *places) isOnPath(at *abi.SharedPlace) bool {
	n := int(at.Position)
	return n > 0 && n <= len(p.steps) && p.steps[n-1].event < int(at.Records) &&
		(n == len(p.steps) || int(at.Records) <= p.steps[n].event) &&
		int(at.Exchanges) <= len(p.exchanges) &&
		at.Printed[0] <= uint64(len(p.stdout)) && at.Printed[1] <= uint64(len(p.stderr)) &&
		(len(p.kept) == 0 || at.Position > p.kept[len(p.kept)-1].Position)
}

// forget is for an execution that has nothing in common with the last one.
func (p *places) forget() {
	p.like, p.steps, p.kept, p.wanted = alike{}, p.steps[:0], p.kept[:0], p.wanted[:0]
	p.exchanges, p.stdout, p.stderr = p.exchanges[:0], nil, nil
}

// splice puts the output of an execution together: what was printed before it began at a place, and
// what it has printed itself.
func (p *places) splice(stdout, stderr []byte) (from int, allOut, allErr []byte) {
	if p.off {
		return 0, stdout, stderr
	}
	p.stdout = join(p.stdout, p.from.Printed[0], stdout)
	p.stderr = join(p.stderr, p.from.Printed[1], stderr)
	return int(p.from.Position), p.stdout, p.stderr
}

// join is the beginning of one text with another one behind it, in memory of its own.
func join(before []byte, n uint64, rest []byte) []byte {
	if n == 0 {
		return rest
	}
	return append(bytes.Clone(before[:n]), rest...)
}

// exchanged notes an answer.
func (p *places) exchanged(in model.Input, answer model.Answer, events int) {
	if p.off || p.like == (alike{}) {
		return
	}
	in.Data = bytes.Clone(in.Data)
	answer.Reaction, answer.Touched = answer.Reaction.Clone(), slices.Clone(answer.Touched)
	answer.Gates = slices.Clone(answer.Gates)
	p.exchanges = append(p.exchanges, exchanged{in: in, answer: answer, events: events})
}

// again gives the peers the inputs before the last place once more. If an answer is another one, no
// place behind it counts. It returns peers that first give the answers that the execution has yet
// to ask for.
func (p *places) again(peers Peers) Peers {
	asked := []exchanged{}
	for n := len(p.kept); n > 0 && len(asked) < int(p.kept[n-1].Exchanges); {
		x := &p.exchanges[len(asked)]
		if watcher, ok := peers.(Watcher); ok {
			watcher.Watch(p.events[:x.events])
		}
		answer, err := peers.Exchange(x.in)
		asked = append(asked, exchanged{in: x.in, answer: answer, err: err})
		if err == nil && answer.Equal(x.answer) {
			continue
		}
		for n > 0 && int(p.kept[n-1].Exchanges) >= len(asked) {
			n--
		}
		p.kept = p.kept[:n]
		break
	}
	before := 0
	if n := len(p.kept); n > 0 {
		before = int(p.kept[n-1].Exchanges)
	}
	if len(asked) == before {
		return peers
	}
	return &ahead{answers: asked[before:], peers: peers}
}

// ahead are peers that were given some inputs before the execution gives them.
type ahead struct {
	answers []exchanged
	peers   Peers
}

// Watch implements Watcher. The peers have seen what is before the inputs that they were given.
func (a *ahead) Watch(events []Event) {
	if watcher, ok := a.peers.(Watcher); ok && len(a.answers) == 0 {
		watcher.Watch(events)
	}
}

// Exchange implements Peers.
func (a *ahead) Exchange(in model.Input) (model.Answer, error) {
	if len(a.answers) == 0 {
		return a.peers.Exchange(in)
	}
	x := a.answers[0]
	a.answers = a.answers[1:]
	if x.in.Kind != in.Kind || x.in.Name != in.Name || !bytes.Equal(x.in.Data, in.Data) {
		return model.Answer{}, errors.New("the program gives another input than it did in the last " +
			"execution after the same choices: something reaches it that is not controlled")
	}
	return x.answer, x.err
}
