package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/strategy"
)

// returnSaboteur has a checkpoint taken of the start, and of the first places that the search comes
// back to, when it does harm.
type returnSaboteur struct {
	returns int
	harm    func(n int)
}

func (r *returnSaboteur) Checkpoint(s strategy.Step) bool {
	if s.Kind == strategy.Return && r.returns < 12 {
		r.harm(r.returns)
		r.returns++
		return true
	}
	return s.Kind == strategy.Start
}

// TestStorageFailsOnReturn: nothing is lost where the checkpoint of a place that the search has
// just come back to cannot be stored, or all that could bring it back there once more is damaged at
// that moment.
func TestStorageFailsOnReturn(t *testing.T) {
	const executions = 20
	options := func() Options {
		o := alphabet.options(t)
		o.Group.Peers[0].Choices = 1 // it is known of the server then that it reads nothing
		return o
	}
	undisturbed := options()
	undisturbed.Strategy = strategy.AfterND{}
	undisturbed.Search = untilViolation(maxExecutions(dporSearch(), executions))
	want := check(t, undisturbed).Verdict
	if err := undisturbed.Client.Close(); err != nil { // there is to be one daemon only
		t.Fatal(err)
	}
	backends := []string{ckptd.BackendCRIU}
	if *deep { // TestStorageFails has memory
		backends = append(backends, ckptd.BackendMemory)
	}
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			var r *returnSaboteur
			got := sabotageBy(t, backend, executions, options(), func(images string) strategy.Strategy {
				filler := filepath.Join(images, "fill")
				r = &returnSaboteur{harm: func(n int) {
					if _, err := os.Stat(filler); err == nil {
						if err := os.Remove(filler); err != nil {
							t.Error(err)
						}
					}
					if n%3 != 1 {
						damageAll(t, images, func(content []byte) []byte { return content[:len(content)/2] })
					}
					if n%3 != 0 {
						fill(t, filler)
					}
				}}
				return r
			})
			if v := got.Verdict; v.Kind != want.Kind || v.Executions != want.Executions ||
				v.Transitions != want.Transitions {
				t.Errorf("%+v\nundisturbed: %+v", v, want)
			}
			if c := got.Counts; r.returns < 6 || c.Unstored < 3 || c.Checkpoints < 3 || c.Restarts < 2 {
				t.Errorf("%d returns, the damage or the lack of room was not noticed: %+v, %s", r.returns, c,
					got.Unstored)
			}
		})
	}
}
