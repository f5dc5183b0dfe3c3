package memory

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// There are few processors and several things to look at while the peers stand still. Work that
// must be on the tracer's thread is done there; the rest is done by other goroutines meanwhile.

// inBackground runs f beside the caller, and returns what waits for its result.
func inBackground(f func() error) (wait func() error) {
	result := make(chan error, 1)
	go func() { result <- f() }()
	return sync.OnceValue(func() error { return <-result })
}

// sideBySide runs functions, the first one on this goroutine, and returns the first error in their
// order. That is for what waits for the kernel: the peers stand still meanwhile.
func sideBySide(first func() error, others ...func() error) error {
	results := make([]error, 1+len(others))
	var running sync.WaitGroup
	for n, f := range others {
		running.Go(func() { results[1+n] = f() })
	}
	results[0] = first()
	running.Wait()
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

// ofEach calls f for each process, for some at a time, and returns the first error in their order.
// Workers take the next process when they are done with one, since some are much larger than
// others.
func ofEach(all []*process.Frozen, f func(*process.Frozen) error) error {
	results := make([]error, len(all))
	var next atomic.Int64
	work := func() error {
		for n := next.Add(1) - 1; n < int64(len(all)); n = next.Add(1) - 1 {
			results[n] = f(all[n])
		}
		return nil
	}
	workers := min(len(all), runtime.GOMAXPROCS(0))
	_ = sideBySide(work, slices.Repeat([]func() error{work}, max(workers-1, 0))...)
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}
