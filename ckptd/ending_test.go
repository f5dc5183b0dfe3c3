package ckptd

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestImagesGoWhileTheirGroupEnds has a group end at about the time when another one's image takes
// the room of all that it has.
func TestImagesGoWhileTheirGroupEnds(t *testing.T) {
	const rounds, images, budget, large = 8, 1000, 16 << 20, 5 << 20
	c := spawn(t, Options{Backend: BackendMemory, MaxBytes: budget})
	ctx := testContext(t)
	other := start(t, c, shell(forever))
	dropped := 0
	for round := range rounds {
		// the first one, or what has room for all that follows
		if _, err := other.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		g := start(t, c, merecat())
		for n := 0; ; n++ { // until the store is full
			i, err := g.Checkpoint(ctx)
			if err != nil || n == images {
				t.Fatalf("%d images, and there is room for more: %v", n, err)
			}
			if len(i.Dropped) > 0 {
				break
			}
		}
		if err := os.WriteFile(inside(other, "/run/tandem/large"), make([]byte, large), 0o600); err != nil {
			t.Fatal(err)
		}
		saved := make(chan struct{})
		closed := make(chan error, 1)
		closing := func() error {
			if round == 0 { // once, room is made for certain
				<-saved
			} else {
				time.Sleep(rand.N(50 * time.Millisecond))
			}
			return g.Close()
		}
		go func() { closed <- closing() }()
		i, err := other.Checkpoint(ctx)
		close(saved)
		if err != nil && !errors.Is(err, ErrNotStored) {
			t.Error(err)
		}
		dropped += len(i.Dropped)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if err := os.Remove(inside(other, "/run/tandem/large")); err != nil {
			t.Fatal(err)
		}
	}
	if dropped == 0 {
		t.Error("no image had to go")
	}
	if err := other.Quiesce(ctx, nil); err != nil {
		t.Error(err)
	}
}
