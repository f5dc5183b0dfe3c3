package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/attached"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/recording"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Debugged is a process that waits in front of main until a debugger is attached to it. Then it
// takes the way that was recorded. While it is stopped, no time limit runs.
type Debugged struct {
	Pid        int
	Executable string // with debugging information
	// Record is how many records the log has where the step begins that was asked for; Step says
	// which one that is. The step that was asked for may be one of time, which no goroutine makes.
	Record int
	Step   string // in words; empty: none was asked for
	// Changed says where the program as it is now leaves the recording; empty: nowhere.
	Changed string
}

// Functions of the runtime at which a debugger stops: at the end of an execution, such as a
// violation, and where a step begins, of the goroutine that is its argument gp.
const (
	EndFunction  = "runtime.tandemEnd"
	StepFunction = "runtime.tandemBeginTransition"
	// StepRecord is what is compared with Debugged.Record, as an expression.
	StepRecord = "runtime.tandem.sh.records"
)

// Debug builds the program of a recording in a directory, as ReplayHere does, and has it debugged:
// use attaches a debugger, and returns when that has ended. The process has gone then. The schedule
// is followed as far as the program agrees, and what can be followed of the rest is. The step is
// counted as in reports; 0: none is asked for.
func Debug(ctx context.Context, rec *report.Recording, dir string, step int,
	use func(Debugged) error) error {
	there, program, clean, err := buildRecorded(ctx, rec, dir, true)
	if err != nil {
		return err
	}
	defer clean()
	// All is known before the process is there for which somebody waits.
	r, err := recording.Rehearse(program, there)
	if err != nil {
		return err
	}
	d := Debugged{Executable: program.Path, Changed: r.Parted}
	if err := d.find(program, r.Log, r.Given(), step); err != nil {
		return err
	}
	return attached.Run(program, r.Options, d.given(use), func(w *sut.Worker) { _, _ = r.Again(w) })
}

// given is use, with the process that it is about.
func (d *Debugged) given(use func(Debugged) error) func(int) error {
	return func(pid int) error {
		d.Pid = pid
		return use(*d)
	}
}

// DebugNode is Debug of one node of a recording, by its name. The other nodes do not run: what they
// do to this one is recorded. If it has crashed, it is debugged from the last restart on. An empty
// name is the node with the violation.
func DebugNode(ctx context.Context, rec *report.NodesRecording, dir, name string, step int,
	use func(Debugged) error) error {
	node := rec.Violated - 1
	if name != "" {
		node = slices.IndexFunc(rec.Nodes, func(n report.NodeRecording) bool { return n.Name == name })
	}
	if node < 0 {
		return fmt.Errorf("there is no node %s in this counterexample: give one of %s", name,
			strings.Join(rec.Names(), ", "))
	}
	there := *rec
	there.Nodes = slices.Clone(rec.Nodes)
	n := &there.Nodes[node]
	n.Directory = moved(n.Directory, rec.Directory, dir)
	program, clean, err := scratch.Build(ctx, nodeBuild(n, dir, true))
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	defer clean()
	r, closeAll, err := nodes.Rehearse(ctx, program, &there, node)
	if err != nil {
		return err
	}
	defer closeAll()
	d := Debugged{Executable: program.Path, Changed: r.Parted}
	if err := d.find(program, r.Log, nil, step); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return attached.Run(program, r.Options, d.given(use), func(w *sut.Worker) { _, _ = r.Again(w) })
}

// find finds the step that is asked for, in an execution and what its peers were given; 0: none is.
func (d *Debugged) find(program *sut.Program, log *sut.Log, given []driver.Exchange,
	step int) error {
	if step == 0 {
		return nil
	}
	// Nothing is asked to be noted beside what happens, so there is a record for each event.
	shown := narrate.Counterexample(program, log, given, nil)
	if step < 1 || step > len(shown.Steps) {
		return fmt.Errorf("step %d: the execution has steps 1 to %d: give one of "+
			"them", step, len(shown.Steps))
	}
	var ok bool
	if d.Record, d.Step, ok = narrate.StepFrom(program, log, step); !ok {
		return fmt.Errorf("step %d: no goroutine makes it or one after it: give an earlier one", step)
	}
	return nil
}
