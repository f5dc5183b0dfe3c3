package criu

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/testkit"
)

func TestLogErrors(t *testing.T) {
	o := operation{work: t.TempDir()}
	if got := o.logErrors(); got != "it wrote no log" {
		t.Errorf("%q", got)
	}
	for log, want := range map[string]string{
		"": "its log holds no error",
		"Error (1)\nWarn\nError (2)\nError (3)\nError (4)\nError (5): Restoring FAILED.\n": "Error (2); " +
			"Error (3); Error (4)",
	} {
		testkit.WriteFile(t, filepath.Join(o.work, criuLog), log)
		if got := o.logErrors(); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}

// TestRestoreIsNotWatchedWhileHeldUp: what clears the way for a restore may take longer than a
// restore may stand still.
func TestRestoreIsNotWatchedWhileHeldUp(t *testing.T) {
	network, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	still := exec.Command("sleep", "1000") // as CRIU is, until it may go on
	if err := netns.InFile(network, still.Start); err != nil {
		t.Fatal(err)
	}
	defer still.Wait()
	defer still.Process.Kill()
	const interval = 2 * time.Millisecond
	for name, proceeds := range map[string]bool{"cleared": true, "not cleared": false} {
		t.Run(name, func(t *testing.T) {
			c := &Runner{Reaper: &reaper.Reaper{Children: map[int]*reaper.Child{}}, interval: interval}
			proceed := make(chan struct{})
			parent, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ctx, cancel := c.whileRestored(parent, network, proceed)
			defer cancel()
			select {
			case <-ctx.Done():
				t.Fatal("the restore is ended while it is held up")
			case <-time.After(500 * interval):
			}
			if proceeds {
				close(proceed)
			} else {
				giveUp()
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
				t.Error("the restore is not ended although nothing happens in it")
			}
		})
	}
}
