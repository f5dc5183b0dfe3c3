package sut

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/process"
)

// Isolation is how one execution is kept from the next.
type Isolation uint8

const (
	// Snapshot has the memory put back in place, to where the execution parts from the last one or,
	// if nothing is kept near there, to main.
	Snapshot Isolation = iota
	Fork               // every execution is a process of its own; slower, the cross-check
	FromMain           // the memory is put back in place, always to main
)

// Options of a worker.
type Options struct {
	Args      []string
	Env       []string // NAME=VALUE, in addition to a fixed small environment
	Dir       string
	Isolation Isolation
	// HangTimeout is how long an execution may go on without a visible operation
	// that reaches the checker, before the worker is ended; 0: 30 s.
	HangTimeout time.Duration
	Environment Environment
	// PlaceGap is how many transitions are at least between the places at which the state of the
	// program is kept; 0: as many as are worth it. It is a matter of speed only.
	PlaceGap int
	// Processor tells workers apart that run at the same time, so that they spread over
	// the processors: 1, 2, ...; 0: it does not matter.
	Processor int
}

const defaultHangTimeout = 30 * time.Second

// Worker is one process that runs executions of a program, one at a time. Its
// methods must not be called concurrently, but for Interrupt.
type Worker struct {
	program     *Program
	options     Options
	environment abi.SharedEnvironment
	processor   process.Processor
	process     *process.Process
	running     atomic.Pointer[process.Process] // for Interrupt
	reader      logReader
	watched     logReader // of the present execution, while it runs
	places      places
	disk        []byte // that executions find; nil: that of the machine
	// Package initialisation looks at what disks change, so a process begins with each of them.
	early bool
}

// Start starts a worker.
func Start(p *Program, o Options) (*Worker, error) {
	o.HangTimeout = cmp.Or(o.HangTimeout, defaultHangTimeout)
	w := &Worker{program: p, options: o, processor: process.Processor{Number: o.Processor}}
	err := o.Environment.describe(&w.environment)
	if err == nil {
		err = w.launch()
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s under control: %w", p.ImportPath, err)
	}
	return w, nil
}

// launch starts a process and makes it ready for its first execution.
func (w *Worker) launch() error {
	early := w.disk
	if !w.early {
		early = nil
	}
	p, err := process.Start(w.program, process.Options{
		Args: w.options.Args, Env: w.options.Env, Dir: w.options.Dir, Stdin: w.options.Environment.Stdin,
		Fork:        w.options.Isolation == Fork,
		OwnCode:     w.options.Processor > 1, // the first has the file
		HangTimeout: w.options.HangTimeout, Environment: &w.environment, Processor: &w.processor,
		Disk: early,
	})
	if err != nil {
		return err
	}
	w.running.Store(p)
	if err := p.Prepare(); err != nil {
		err = p.Explain(err)
		p.Close()
		return err
	}
	if !w.early && w.disk != nil {
		if err := p.SetDisk(w.disk); err != nil {
			p.Close()
			return err
		}
	}
	w.process = p
	w.places = places{gap: w.options.PlaceGap, off: w.options.Isolation != Snapshot}
	return nil
}

// Close ends the worker and frees what it holds.
func (w *Worker) Close() error {
	w.process.Close()
	return nil
}

// Forget has the next execution begin at main.main, even if it could begin where the last one was.
func (w *Worker) Forget() { w.places.forget() }

// Interrupt ends the process of a worker at once; a Run under way returns an
// error. It may be called at any time, from any goroutine.
func (w *Worker) Interrupt() { w.running.Load().Kill() }

// Pid is the process ID of the worker.
func (w *Worker) Pid() int { return w.process.Pid() }

// Stay keeps the calling goroutine on the worker's processor until the function that
// it returns is called. Only that goroutine may then call Run, which need not move it
// there and back for each execution.
func (w *Worker) Stay() (leave func()) { return w.processor.Stay() }

// Together keeps the calling goroutine on the processor of some workers, as Stay does, and brings
// all of them to that of the first. One of them runs at a time, in the turns that the caller gives
// them: it may call their Runs in coroutines.
func Together(workers []*Worker) (leave func()) {
	var all []*process.Processor
	for _, w := range workers {
		all = append(all, &w.processor)
	}
	return process.StayTogether(all)
}
