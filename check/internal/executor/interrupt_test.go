package executor

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// silent are peers that never answer. Asked is called whenever they are waited for.
type silent struct{ asked func() }

// Ask implements driver.Far.
func (s silent) Ask(ctx context.Context, _ *driver.Question) (driver.Reply, error) {
	s.asked()
	<-ctx.Done()
	return driver.Reply{}, context.Cause(ctx)
}

// TestInterrupt: an executor that waits for peers ends at once when it is interrupted, also if
// these are the peers of an audit. Renewed, it waits again.
func TestInterrupt(t *testing.T) {
	program := suttest.Build(t, sut.BuildOptions{Dir: filepath.Join("..", "..", ".."),
		Package: "./examples/alphabet"})
	group := peers.Group{Peers: []peers.Peer{{Name: "server", Listen: "127.0.0.1:9000"}}}
	var x *Executor
	asked := 0
	never := func(scope iocache.Scope) *driver.Driver {
		far := silent{func() { asked++; x.Interrupt() }}
		return driver.Follow(t.Context(), driver.Config{Spec: group, Scope: scope}, far).Driver
	}
	of := never(iocache.Connection)
	c := &Config{Program: program, Peers: of, Auditor: audit.New(never(iocache.Group), of)}
	var err error
	if x, err = New(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for name, run := range map[string]func() error{
		"an execution": func() error {
			_, _, err := x.Execute(explore.Schedule{}, false, func(string) bool { return false })
			return err
		},
		"an audit": func() error { return x.Audit(sut.Schedule{Seed: 1}) },
	} {
		for round := range 2 {
			before := asked
			if run() == nil { // the end of the worker may be seen first
				t.Errorf("%s that was interrupted: there is no error", name)
			}
			if asked == before {
				t.Errorf("%s, round %d: nobody has waited for the peers", name, round)
			}
			x.Renew()
		}
	}
}
