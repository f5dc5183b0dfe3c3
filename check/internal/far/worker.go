package far

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// setup is what a worker has to know of a check, beside the program.
type setup struct {
	Program   sut.Program
	Package   string
	Worker    sut.Options
	Depth     int
	Leaks     bool
	SelfCheck int
	Distinct  bool
	Audited   bool        // who leads audits what was explored
	First     string      // digest of what the program does without a schedule; empty: it is refused
	Peers     *peersSetup `json:",omitempty"` // nil: there are none
	// Nodes are several programs, which are checked together; nil: there is one, and the rest is
	// about that.
	Nodes *nodesSetup `json:",omitempty"`
}

// setupOf is what workers have to know of a check. The executor runs the program once. Published
// counts what that takes; it is nil if there are no peers.
func setupOf(c *executor.Config, x *executor.Executor, published *driver.Published) ([]byte, error) {
	x.TakeCounts()
	first, err := firstOf(c, x)
	if err != nil {
		return nil, err
	}
	if published != nil {
		published.NoteFirst(x.TakeCounts())
	}
	return json.Marshal(setup{Program: *c.Program, Package: c.Package, Worker: c.Worker, Depth: c.Depth,
		Leaks: c.Leaks, SelfCheck: c.SelfCheck, Distinct: c.Distinct, Audited: c.Auditor != nil, First: first,
		Peers: peersOf(c.Peers)})
}

// firstOf is the digest of what the program does without a schedule, event by event, with its
// output. It shows whether files that the program reads are other ones, for example.
func firstOf(c *executor.Config, x *executor.Executor) (string, error) {
	log, err := x.Run(c.Violating(nil, 0))
	if err != nil || log.Outcome == sut.Refused {
		return "", err // the search tells it
	}
	// Places in the program are the same numbers everywhere, since the program is the same file.
	// Standard error may have addresses, and is left out.
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, log.Events); err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%d %d %s %s", log.Outcome, log.ExitCode, log.Message, log.Stdout)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// differs is why a worker cannot help where a program, or several, do something else.
const differs = "the %s not do here what %s where the check is led: see that the files that %s are the " +
	"same, beginning with those in %s"

// explorer explores the parts of one check.
type explorer struct {
	ctx      context.Context
	config   *executor.Config
	executor *executor.Executor
	follower *driver.Follower // nil: there are no peers
	common   explore.Common
}

// start implements distribute.Start.
func start(ctx context.Context, run distribute.Run, program string, ask distribute.Ask) (
	distribute.Explorer, error) {
	var s setup
	if err := json.Unmarshal(run.Setup, &s); err != nil {
		return nil, fmt.Errorf("reading what the check is: %w", err)
	}
	if s.Nodes != nil {
		return startNodes(ctx, s.Nodes, program)
	}
	// What the program was built from is not here, and need not be.
	p, err := sut.Moved(&s.Program, program)
	if err != nil {
		return nil, err
	}
	// Counterexamples are made where the check is led, so kinds and modules do not matter here.
	c := &executor.Config{Program: p, Package: s.Package, Worker: s.Worker, Depth: s.Depth, Leaks: s.Leaks,
		SelfCheck: s.SelfCheck, Distinct: s.Distinct, Audited: s.Audited}
	made := &explorer{ctx: ctx, config: c}
	if s.Peers != nil {
		made.follower = s.Peers.follower(ctx, ask)
		c.Peers = made.follower.Driver
	}
	// One executor: who wants several processors used starts several workers.
	x, err := executor.New(ctx, c, 0)
	if err != nil {
		x.Close()
		return nil, err
	}
	// A difference that does not show in this execution shows later as a schedule that cannot be
	// followed. Then the leader explores the part.
	first, err := firstOf(c, x)
	if err == nil && first != s.First {
		err = fmt.Errorf(differs, "program does", "it does", "it reads", s.Worker.Dir)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	made.executor = x
	return made, nil
}

// Close implements distribute.Explorer.
func (x *explorer) Close() { x.executor.Close() }

// Explore implements distribute.Explorer.
func (x *explorer) Explore(part []byte, stop func() bool) (result []byte, executions int, err error) {
	var t task
	written, err := unframe(part, &t)
	if err != nil {
		return nil, 0, fmt.Errorf("reading a part: %w", err)
	}
	// The same build has written it, so an error means that it was damaged on the way.
	s, err := explore.ResumeSubtree(written, &x.common)
	if err != nil {
		return nil, 0, err
	}
	x.config.Dials = dials.Set{} // what is news in this part
	// What others were told since the last part is got at once, and not one by one.
	var used []driver.Use
	if x.follower != nil {
		if err := x.follower.CatchUp(); err != nil {
			return nil, 0, err
		}
	}
	// The goroutine stays with the worker process, as that of an executor of a check does.
	leave := x.executor.Stay()
	defer leave()
	// Which kinds are known is not known here, so the first of each kind in this part is kept.
	found, err := pool.Explore(x.ctx, x.executor, s, t.Bounds, stop, func(string) bool { return false })
	if err != nil || found.Executions == 0 {
		return nil, 0, err
	}
	// What was explored until now is of use, whether the part has ended or not.
	if x.follower != nil {
		used = x.follower.Used()
	}
	result, err = answerOf(s, found, used)
	return result, found.Executions, err
}
