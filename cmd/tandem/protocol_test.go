package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// together is the program that checks a model with several processes.
const together = "./examples/protocols/together"

// runTogether runs tandem protocol until it ends, or is killed after a while.
func runTogether(t *testing.T, after time.Duration, args ...string) (out, log string, killed bool) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "tandem"), append([]string{"protocol"}, args...)...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), "TMPDIR="+tree) // what a killed process leaves behind goes with the tree
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		defer time.AfterFunc(after, func() { c.Process.Kill() }).Stop()
	}
	err := c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return "", "", true
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, &stdout, &stderr)
	}
	return stdout.String(), stderr.String(), false
}

// TestProtocolKills kills workers, the NATS server and the process that leads at random moments,
// and has each come back. The result is that of one process, and so is the run to a violation. With
// -deep 200 are killed.
func TestProtocolKills(t *testing.T) {
	models := []string{"twophase:7", "twophase:6", "faulty:1"}
	enough, kills := 3, map[string]int{"workers": 1, "servers": 1, "leaders": 1} // at most
	whole := 2 * time.Second
	if *deep {
		models, whole = []string{"twophase:8", "twophase:7", "faulty:1"}, 8*time.Second
		enough, kills = 200, map[string]int{"workers": 150, "servers": 50, "leaders": 50}
	}
	alone := exec.Command("go", append([]string{"run", together}, models...)...)
	alone.Dir = "../.."
	want, err := alone.Output()
	if err != nil {
		t.Fatal(err)
	}
	s := natsd.Start(t, t.TempDir())
	done := map[string]int{}
	first := ""
	for round := 0; done["workers"]+done["servers"]+done["leaders"] < enough; round++ {
		if round > 2*enough {
			t.Fatalf("too few were killed: %v of %v", done, kills)
		}
		over := make(chan struct{})
		var busy sync.WaitGroup
		busy.Go(func() { disturb(t, s, over, kills, done, whole) })
		parts := []string{"2", "3"}[round%2]
		// A part that is lost goes on with its last checkpoint, or begins anew.
		args := append([]string{together, "--distribute", s.URL, "--parts", parts, "--partition",
			[]string{"hash", "part"}[rand.IntN(2)], "--checkpoint", []string{"0", "1ms"}[rand.IntN(2)], "--"},
			models...)
		out, killed := "", true
		for killed {
			after := time.Duration(0)
			if done["leaders"] < kills["leaders"] {
				after = 1 + rand.N(2*whole)
			}
			out, _, killed = runTogether(t, after, args...)
			if killed {
				done["leaders"]++
			}
		}
		close(over)
		busy.Wait()
		t.Logf("until now %v were killed", done)
		// Of several shortest runs another one may be shown than alone, and always the same.
		if first == "" {
			first = out
		}
		if diff := cmp.Diff(first, out); diff != "" {
			t.Fatalf("after %v were killed\n%s", done, diff)
		}
		lines, _, _ := strings.Cut(string(want), "faulty")
		if got, _, _ := strings.Cut(out, "faulty"); got != lines {
			t.Fatalf("after %v were killed: %s, and alone %s", done, got, lines)
		}
	}
}
