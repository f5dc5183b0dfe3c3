package spin

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/synod"
	"github.com/tandem-mc/tandem/examples/protocols/twophase"
	"github.com/tandem-mc/tandem/protocol"
)

// pair is one protocol, written twice.
type pair struct {
	name    string
	file    string
	defines []string
	slots   int // as many as are needed for the states, as a power of 2
	model   *protocol.Model
}

func pairs() []pair {
	paxos := synod.Config{Proposers: 2, Acceptors: 3, Learners: 1, Rounds: 1}
	quorums := paxos
	quorums.Quorums = true
	return []pair{
		{"two-phase commit, 7 managers", "twophase.pml", []string{"-DN=7"}, 19, twophase.Model(7)},
		{"the same, fewer steps in SPIN", "twophase.pml", []string{"-DN=7", "-DGUARDS"}, 19,
			twophase.Model(7)},
		{"Paxos (2,3,1), quorums", "synod.pml", []string{"-DQUORUMS"}, 15, synod.Model(quorums)},
		{"Paxos (2,3,1), single messages", "synod.pml", nil, 17, synod.Model(paxos)},
	}
}

// Row compares the searches of one model.
type Row struct {
	Name string
	Spin Result
	// One and Two are those of package protocol, with so many workers.
	One, Two Result
}

// Ratio is how many states package protocol finds in the time that SPIN takes for one.
func (r *Row) Ratio() float64 { return r.One.rate() / r.Spin.rate() }

// rate is how many states are found in a second of processor time.
func (r *Result) rate() float64 { return float64(r.States) / r.Processor.Seconds() }

// Compare runs all searches so many times, by turns. What counts is the shortest time of each,
// since other programs on the machine only make it longer.
func Compare(rounds int) ([]Row, error) {
	var rows []Row
	for _, p := range pairs() {
		r, err := p.compare(rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, *r)
	}
	return rows, nil
}

// compare runs the searches of one model.
func (p *pair) compare(rounds int) (*Row, error) {
	dir, err := os.MkdirTemp("", "spin")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	search, err := Build(dir, p.file, p.slots, p.defines...)
	if err != nil {
		return nil, err
	}
	var runs [3][]Result
	for range rounds {
		r, err := search.Run()
		if err != nil {
			return nil, err
		}
		runs[0] = append(runs[0], *r)
		for workers := 1; workers <= 2; workers++ {
			if r, err = p.own(workers); err != nil {
				return nil, err
			}
			runs[workers] = append(runs[workers], *r)
		}
	}
	shortest := func(list []Result) Result {
		return slices.MinFunc(list, func(a, b Result) int { return cmp.Compare(a.Processor, b.Processor) })
	}
	return &Row{p.name, shortest(runs[0]), shortest(runs[1]), shortest(runs[2])}, nil
}

// own is a search of package protocol.
func (p *pair) own(workers int) (*Result, error) {
	// A process of SPIN has to get each page from the system. What the rounds before have left
	// would spare this search that.
	debug.FreeOSMemory()
	before, err := processorTime()
	if err != nil {
		return nil, err
	}
	r, err := protocol.Check(p.model, protocol.Options{Workers: workers})
	if err != nil {
		return nil, err
	}
	if r.Verdict != protocol.Holds {
		return nil, fmt.Errorf("the model in Go: %v", r)
	}
	after, err := processorTime()
	return &Result{States: r.States, Transitions: int(r.Transitions), Bytes: r.Bytes,
		Processor: after - before}, err
}

// processorTime is that of this process so far, in all threads.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// Table is the comparison for people.
func Table(rows []Row) string {
	var s strings.Builder
	s.WriteString("| model | states | SPIN: states/s | Tandem: states/s | Tandem : SPIN | two workers | " +
		"transitions/s, SPIN and Tandem | bytes for a state, SPIN and Tandem |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		steps := func(x Result) float64 { return float64(x.Transitions) / x.Processor.Seconds() }
		fmt.Fprintf(&s, "| %s | %d | %.0fk | %.0fk | %.2f | %.0fk | %.1fM, %.1fM | %d, %d |\n", r.Name,
			r.Spin.States, r.Spin.rate()/1e3, r.One.rate()/1e3, r.Ratio(), 2*r.Two.rate()/1e3,
			steps(r.Spin)/1e6, steps(r.One)/1e6, r.Spin.Bytes/int64(r.Spin.States),
			r.One.Bytes/int64(r.One.States))
	}
	return s.String()
}
