package ckptd

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// crowd starts a peer that has many threads, and epoll instances that watch many descriptors each.
func crowd(t *testing.T, c *Client, program []byte, threads, instances, watched int) *Group {
	t.Helper()
	command := []string{"{scratch}/many", strconv.Itoa(threads), strconv.Itoa(instances),
		strconv.Itoa(watched)}
	return start(t, c, peers.Group{
		Peers: []peers.Peer{{Name: "many", Command: command}},
		Files: []peers.File{{Path: "many", Content: program, Mode: 0o755}},
	})
}

func buildCrowd(t *testing.T) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), "many")
	if out, err := exec.Command("cc", "-O1", "-Wall", "-o", program, "testdata/many.c",
		"-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return testkit.ReadFile(t, program)
}

// TestManyThreadsAndRegistrations: what cannot be made again is refused when it is saved, and
// hundreds of threads can.
func TestManyThreadsAndRegistrations(t *testing.T) {
	program := buildCrowd(t)
	c := spawn(t, Options{Backend: BackendMemory})
	for _, s := range []struct {
		threads, instances, watched int
		refusal                     string // none: it is saved
	}{
		{threads: 200}, {threads: 340}, {threads: 700},
		{threads: 1000, refusal: "with 1001 threads, 4 descriptors and "}, // who could be copied
		{threads: 1800, refusal: "there is no room for "},                 // who could not be asked either
		{instances: 30, watched: 120},
		{instances: 60, watched: 120, refusal: "could not be made again"},
		{threads: 400, instances: 30, watched: 120, refusal: "could not be made again"},
	} {
		t.Run(fmt.Sprintf("%d threads, %d times %d", s.threads, s.instances, s.watched), func(t *testing.T) {
			g, ctx := crowd(t, c, program, s.threads, s.instances, s.watched), testContext(t)
			image, err := g.Checkpoint(ctx)
			if s.refusal == "" {
				for n := 0; n < 2 && err == nil; n++ { // which compares it with what it was
					err = g.Restore(ctx, image.ID)
				}
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), s.refusal) ||
				!strings.Contains(err.Error(), "the memory backend cannot hold") {
				t.Errorf("%v\nwant %q", err, s.refusal)
			}
			if err := g.Quiesce(ctx, nil); err != nil {
				t.Errorf("the group does not go on: %v", err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCrowdFallsBack: CRIU saves what there is no room for.
func TestCrowdFallsBack(t *testing.T) {
	g, ctx := crowd(t, spawn(t, Options{Backend: BackendAuto}), buildCrowd(t), 0, 60, 120), testContext(t)
	image, err := g.Checkpoint(ctx)
	if err == nil {
		err = g.Restore(ctx, image.ID)
	}
	if err != nil || image.Backend != BackendCRIU ||
		!strings.Contains(image.Refusal, "could not be made again") {
		t.Errorf("an image by %s, %v: %s", image.Backend, err, image.Refusal)
	}
}
