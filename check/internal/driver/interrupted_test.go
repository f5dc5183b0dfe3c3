package driver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

// TestInterrupted: who is interrupted while it waits for the peers, or for somebody else who does,
// gets an error at once. The others go on, and get the answers that they would have got.
func TestInterrupted(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{
		"with checkpoints": strategy.AfterIO{}, "without": strategy.Never{},
	} {
		for _, scope := range []iocache.Scope{iocache.Group, iocache.Connection} {
			t.Run(name+", "+scope.String(), func(t *testing.T) {
				world := &fakeWorld{images: map[string]fakeState{}}
				c := Config{Start: world.start, Strategy: s, Scope: scope, Shared: MaxShared}
				c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
				d := New(t.Context(), c)
				defer d.Close()
				interrupted(t, d, world)
			})
		}
	}
}

func interrupted(t *testing.T, d *Driver, world *fakeWorld) {
	inputs := []model.Input{{Kind: model.Connect, Addr: serverAt, Name: "c0"},
		{Kind: model.Send, Data: []byte("count\n")}, {Kind: model.Send, Data: []byte("count\n")}}
	alone := New(t.Context(), Config{Start: (&fakeWorld{images: map[string]fakeState{}}).start,
		Strategy: strategy.Never{}, Scope: d.scope, Spec: d.spec})
	defer alone.Close()
	want := run(t, alone.NewSession(&Counts{}), inputs)
	first, second := d.NewSession(&Counts{}), d.NewSession(&Counts{})
	shown := Publish(d)
	run(t, first, inputs[:2])
	run(t, second, inputs[:2])
	ask := func(ctx context.Context) error {
		at, _ := first.At()
		_, err := shown.Answer(ctx, &Question{Input: &inputs[2], At: at, Connections: []string{"c0"}})
		return err
	}
	// The peers would be waited for until the context of the driver ends.
	for name, one := range map[string]func(context.Context) error{
		"a session": func(ctx context.Context) error {
			second.EndWith(ctx)
			_, err := second.Exchange(inputs[2])
			return err
		},
		"a question": ask,
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		var others sync.WaitGroup
		world.hang = func() {
			others.Go(func() {
				if err := ask(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%s, and another one that waits: %v", name, err)
				}
			})
			interrupt()
		}
		if err := one(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s that was interrupted: %v", name, err)
		}
		others.Wait()
		world.hang = nil
	}
	if asked, news := shown.Asked(); asked != 0 || news != 0 || shown.Counts().Misses != 0 {
		t.Errorf("asked for %d inputs, of which %d were new, and %d were answered; want none", asked, news,
			shown.Counts().Misses)
	}
	if err := ask(t.Context()); err != nil {
		t.Error(err)
	}
	if got := run(t, first, inputs); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
