package memory

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// TestSideBySide: all functions are called, whatever others return, and the error is the first one
// in their order, not in that of time.
func TestSideBySide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fails := rapid.SliceOfN(rapid.Bool(), 1, 8).Draw(t, "which fail")
		var called atomic.Int64
		var want error
		var all []func() error
		for n, fail := range fails {
			var err error
			if fail {
				err = fmt.Errorf("function %d", n)
			}
			if want == nil {
				want = err
			}
			all = append(all, func() error { called.Add(1); return err })
		}
		if got := sideBySide(all[0], all[1:]...); got != want || int(called.Load()) != len(all) {
			t.Errorf("%v after %d calls, want %v", got, called.Load(), want)
		}
	})
}

// TestOfEach calls the function once for each process.
func TestOfEach(t *testing.T) {
	for count := range 20 {
		var all []*process.Frozen
		for n := range count {
			all = append(all, &process.Frozen{Saved: &process.Saved{PID: n}})
		}
		calls := make([]atomic.Int64, count)
		err := ofEach(all, func(p *process.Frozen) error {
			calls[p.PID].Add(1)
			if p.PID >= count/2 && count > 1 {
				return fmt.Errorf("process %d", p.PID)
			}
			return nil
		})
		if want := fmt.Sprintf("process %d", count/2); count > 1 && (err == nil || err.Error() != want) ||
			count <= 1 && err != nil {
			t.Errorf("of %d: %v", count, err)
		}
		for n := range calls {
			if got := calls[n].Load(); got != 1 {
				t.Errorf("of %d process %d is looked at %d times", count, n, got)
			}
		}
	}
}

// TestInBackground has a result for each caller that waits.
func TestInBackground(t *testing.T) {
	want := errors.New("something")
	wait := inBackground(func() error { return want })
	for range 2 {
		if got := wait(); got != want {
			t.Errorf("%v", got)
		}
	}
}
