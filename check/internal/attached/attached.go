// Package attached has a debugger attached to a program before its execution begins.
package attached

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// Run starts a program, which waits in front of main. use is told its process, attaches a debugger
// to that, and returns when the debugger has ended. Once it is attached, run has the worker run the
// execution, beside use. The process has gone when Run returns. If no debugger is attached before
// use returns, nothing is run.
func Run(program *sut.Program, o sut.Options, use func(pid int) error, run func(*sut.Worker)) error {
	const forEver = 365 * 24 * time.Hour
	o.HangTimeout = forEver // it is stopped for as long as somebody thinks
	worker, err := sut.Start(program, o)
	if err != nil {
		return err
	}
	over, ran := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ran)
		if awaitTracer(worker.Pid(), over) {
			// What becomes of it is for the debugger to see. There its end is that of the process.
			run(worker)
			worker.Interrupt()
		}
	}()
	err = use(worker.Pid())
	close(over)
	worker.Interrupt()
	<-ran
	return errors.Join(err, worker.Close())
}

// awaitTracer waits until a debugger is attached to a process, and reports whether one is. It stops
// waiting when over is closed. The kernel tells nobody of it, so it has to be looked for.
func awaitTracer(pid int, over <-chan struct{}) bool {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(status), "\nTracerPid:\t")
		if tracer, _, _ := strings.Cut(rest, "\n"); tracer != "0" && tracer != "" {
			return true
		}
		select {
		case <-over:
			return false
		case <-look.C:
		}
	}
}
