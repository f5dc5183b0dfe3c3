package nodes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes/baton"
	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// player runs all nodes together, at the same time and each with its schedule, so that their events
// happen in the order of a recorded execution.
//
// A node is given what is recorded that others have sent. Each of these has to send the same, byte
// for byte, before the node can take it. So where nobody parts, it is what they have sent now.
type player struct {
	net    *network.Nodes
	global skeleton.Global
	judged int // the node that has the violation
	// explored: the events of nodes are not in one order, but as in the exploration.
	explored bool
	// apart: the node with the violation has a data race that was found while its events were in no
	// order (environment.Environment.Apart).
	apart    bool
	programs []*sut.Program
	// by node
	workers   []*sut.Worker
	schedules []sut.Schedule
	later     [][]sut.Schedule // those of its lives after a crash; nil: nobody has any
	timing    []pace.Timing    // of a walk; nil: it is none
	fates     []pace.Timing    // of an exploration: when nodes crash
}

// Played is what a node has done. The log itself is valid until the next run of its worker, so what
// is needed of it is kept here.
type Played struct {
	sut.Outcome
	Message  string
	outcome  model.Outcome     // the same, as searches have it
	eventLog string            // its hash, and those of later lives
	chosen   [][]report.Chosen // by life
	race     *sut.MemoryAccess // to watch for, when it is shown
	err      error
}

// environment is that of a node in a run. The node with the violation gets what was sent as soon as
// it can have arrived, as in its exploration, and others not before they read it.
//
// A node that others only need for what it does to them may go on as it likes after that: what it
// does then is not looked at. The one with the violation must do all that is recorded, and no more.
func (p *player) environment(node int, b *baton.Baton) *environment.Environment {
	// What it sends is noted by itself, and not for others.
	net := &network.Nodes{Names: p.net.Names, Places: p.net.Places, Beside: p.net.Beside,
		Data:   maps.Clone(p.net.Data),
		Parted: p.net.Parted, Exclusive: p.net.Exclusive, Ordered: ordered(len(p.global))}
	if p.explored {
		net.Ordered = p.net.Ordered
	}
	arrivals := p.global.Arrivals(node)
	if p.timing != nil {
		pace.Replayed(p.timing[node]).Sort(arrivals)
	}
	n := environment.New(net, node, p.global[node].Events, arrivals)
	if p.timing != nil {
		n.Pace = pace.Replayed(p.timing[node])
		n.Datagrams.Carrier = datagram.Recorded{Net: net, Script: n.Script,
			Made: func() int { return len(n.Made) }}
		// What a node does in a walk is all that it has done by then, however soon that ends.
		for _, p := range net.Parted.All() {
			n.Hold.Connects[p.From] = p.CountConnects(net, n.Node, n.Script)
		}
	} else if p.fates != nil {
		n.Fate = p.fates[node]
	}
	n.Apart = p.apart && node == p.judged && net.Ordered[node]
	n.Later, n.GoesOn, n.Baton = node != p.judged, node != p.judged, b
	return n
}

// run runs all nodes once. The parting is nil if all have done what is recorded. An error is one of
// a worker.
func (p *player) run() ([]Played, *baton.Parting, error) {
	// What peers have done nobody does again. It is in the answers that the nodes get.
	b := baton.New(slices.DeleteFunc(course.Order(p.net, p.global), func(at course.Place) bool {
		return at.Node >= len(p.workers)
	}))
	all := make([]Played, len(p.workers))
	var group sync.WaitGroup
	for c := range p.workers {
		group.Go(func() { all[c] = p.play(c, b) })
	}
	group.Wait()
	var failed error
	for c := range all {
		if err := all[c].err; err != nil {
			failed = errors.Join(failed, fmt.Errorf("node %s: %w", p.net.Names[c], err))
		}
	}
	return all, b.Parted(), failed
}

// play runs one node. Where it has ended without all of its events, it has parted: nobody must wait
// for them.
func (p *player) play(node int, b *baton.Baton) Played {
	n := p.environment(node, b)
	var played Played
	log, err := p.live(node, n, nil, func(log *sut.Log) {
		hash := narrate.EventHash(log.Events)
		played.eventLog = strings.TrimSpace(played.eventLog + " " + hash)
		played.chosen = append(played.chosen, narrate.Chosen(p.programs[node], log.Events))
	})
	now := "does no more"
	if err == nil && log.Outcome != sut.Completed {
		now = "ends: " + log.Outcome.String()
	}
	if parting, is := n.Undone(now); is {
		b.Drop(parting)
	}
	if err != nil {
		return Played{err: err}
	}
	outcome, err := translate.Outcome(log)
	if log.Outcome != sut.Diverged {
		err = nil // an end that is none for a search, such as a refusal, is told as it is
	}
	played.Outcome, played.outcome, played.race, played.err = log.Outcome, outcome, log.Race.First(), err
	played.Message = log.Message
	return played
}

// live runs a node: first as its schedule says, and after each crash as the next one does, with the
// disk that the crash has left. The last life is run with what is asked for besides; nil: nothing.
// Each log is looked at, and the last one returned: it is valid until the next run of the worker,
// and so is its disk, which is therefore copied.
func (p *player) live(node int, n *environment.Environment, asked func(*sut.Schedule),
	look func(*sut.Log)) (*sut.Log, error) {
	// The disk is not recorded: it comes of the crash, as all else comes of what was chosen.
	lives := p.lives(node)
	for i := 0; ; i++ {
		s := lives[i]
		isLast := i == len(lives)-1
		if isLast && asked != nil {
			asked(&s)
		}
		log, err := p.workers[node].Run(s, n)
		if err != nil {
			return nil, err
		}
		n.End(log)
		// One that does not run again is there when the clock advances.
		if look(log); log.Outcome != sut.Crashed || !n.Restarts(nil) || isLast {
			return log, nil
		}
		lives[i+1].Disk, lives[i+1].After = slices.Clone(log.Disk), n.Now
	}
}

// lives are the schedules of a node, one for each of its lives, as a copy.
func (p *player) lives(node int) []sut.Schedule {
	list := []sut.Schedule{p.schedules[node]}
	if p.later != nil {
		list = append(list, p.later[node]...)
	}
	return list
}

// last is the schedule of the last life of the node with the violation.
func (p *player) last() *sut.Schedule {
	if p.later != nil && len(p.later[p.judged]) > 0 {
		return &p.later[p.judged][len(p.later[p.judged])-1]
	}
	return &p.schedules[p.judged]
}

// follow runs the node with the violation by itself, with another schedule of its last life. The
// log is nil if it does something else to the others.
func (p *player) follow(schedule []model.Action, lenient bool) (*sut.Log, error) {
	n := p.environment(p.judged, nil)
	log, err := p.live(p.judged, n, func(last *sut.Schedule) {
		last.Prefix, last.Lenient, last.WantEnabled = schedule, lenient, true
	}, func(*sut.Log) {})
	if err != nil || n.HasLeft() || len(n.Made) != len(n.Script) {
		return nil, err
	}
	return log, nil
}

// show tells the violation, by another run of the node that has it: what others do is known. It
// also tells what it has in common with other ones of the node.
func (p *player) show(race *sut.MemoryAccess) (*report.Counterexample, string, error) {
	program, shown := p.programs[p.judged], func(*sut.Log) {}
	log, err := p.live(p.judged, p.environment(p.judged, nil), func(s *sut.Schedule) {
		s.Show, s.WantEnabled = &sut.Show{Watch: race}, true
	}, shown)
	if err != nil {
		return nil, "", fmt.Errorf("node %s, again: %w", p.net.Names[p.judged], err)
	}
	preempting := translate.Preemptions(log.Events)
	// The log is valid until the next run, and these are a copy.
	events := narrate.WithoutEnabled(log.Events)
	if log, err = p.live(p.judged, p.environment(p.judged, nil), func(s *sut.Schedule) {
		s.Show = &sut.Show{Watch: race}
	}, shown); err != nil {
		return nil, "", fmt.Errorf("node %s, again: %w", p.net.Names[p.judged], err)
	}
	// A log that is too long for what else could have been picked is another one.
	if narrate.FirstDifference(events, log.Events) >= 0 {
		preempting = nil
	}
	return narrate.Node(program, log, preempting),
		p.net.Names[p.judged] + "\n" + narrate.SignatureOf(program, log).Key, nil
}
