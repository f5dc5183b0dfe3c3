package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// TestDistributedKills kills workers, the NATS server and the check that leads at random moments,
// and has each come back. The check prints what it prints alone. With -deep 200 are killed, of a
// check of one program, and as many of one of several, and of one with peers. By default package
// check kills workers of these.
func TestDistributedKills(t *testing.T) {
	for name, args := range map[string][]string{
		"one": {"./check/testdata/turns", "--executions", "10000", "--search", "dpor", "--workers", "1",
			"--", "3", "4"},
		"nodes": {"--config", "examples/nodes/paxos/tandem.yaml", "--workers", "1"},
		"peers": {"./examples/httpget", "--config", "examples/httpget/tandem.yaml", "--executions", "150",
			"--search", "dpor", "--workers", "1", "--", "-n", "3"},
	} {
		if name == "one" || *deep {
			t.Run(name, func(t *testing.T) { killDistributed(t, args) })
		}
	}
}

// TestDistributedBeside: workers explore nodes that have real peers beside them, and the check has
// the same executions and skeletons.
func TestDistributedBeside(t *testing.T) {
	args := []string{"check", "-o", filepath.Join(tree, "counterexample"), "--config",
		"examples/nodes/booking/fixed.yaml"}
	counts := regexp.MustCompile(`[0-9]+ (different )?executions of single nodes|[0-9]+ of all nodes`)
	run := func(more ...string) (found []string, said string) {
		c := exec.Command(filepath.Join(bin, "tandem"), slices.Concat(args, more)...)
		c.Dir = "../.."
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return counts.FindAllString(string(out), -1), stderr.String()
	}
	want, _ := run()
	s := natsd.Start(t, t.TempDir())
	for range 2 {
		w := startWorker(t, s.URL)
		defer endWorker(t, w)
	}
	// They may come too late for the first check, which takes a second.
	for range 10 {
		got, said := run("--distribute", s.URL)
		if len(got) != 3 || !slices.Equal(got, want) {
			t.Errorf("%q with workers, %q alone", got, want)
		}
		if !strings.Contains(said, "explored 0 executions") {
			return
		}
	}
	t.Error("the workers have explored nothing in ten checks")
}

// killDistributed is TestDistributedKills of one check.
func killDistributed(t *testing.T, args []string) {
	enough, kills := 3, map[string]int{"workers": 3, "servers": 1, "leaders": 1} // at most
	if *deep {
		enough, kills = 200, map[string]int{"workers": 150, "servers": 50, "leaders": 50}
	}
	began := time.Now()
	want, _ := runFor(t, 0, append([]string{"check", "-o", filepath.Join(tree, "counterexample")}, args...))
	whole := min(time.Since(began), 5*time.Second)
	s := natsd.Start(t, t.TempDir())
	done := map[string]int{}
	for round := 0; done["workers"]+done["servers"]+done["leaders"] < enough; round++ {
		if round > 2*enough {
			t.Fatalf("too few were killed: %v of %v", done, kills)
		}
		over := make(chan struct{})
		var busy sync.WaitGroup
		busy.Go(func() { disturb(t, s, over, kills, done, whole) })
		got, killed := killedAndResumed(t, args, min(1, kills["leaders"]-done["leaders"]), whole,
			"--distribute", s.URL)
		close(over)
		busy.Wait()
		done["leaders"] += killed
		if diff := cmp.Diff(withoutInputs(want), withoutInputs(got)); diff != "" {
			t.Fatalf("after %v were killed (-alone +distributed)\n%s", done, diff)
		}
	}
	t.Logf("%v were killed", done)
}

// withoutInputs is what a check prints, but for how many inputs to the peers there were: executions
// in vain have some, too.
func withoutInputs(out string) string {
	return regexp.MustCompile(`(?m)^  [0-9,]+ inputs to the peers:.*\n`).ReplaceAllString(out, "")
}

// disturb has two workers work until all is over, and kills them and the server now and then.
func disturb(t *testing.T, s *natsd.Server, over <-chan struct{}, kills, done map[string]int,
	whole time.Duration) {
	workers := []*exec.Cmd{startWorker(t, s.URL), startWorker(t, s.URL)}
	defer func() {
		for _, w := range workers {
			endWorker(t, w)
		}
	}()
	for {
		next := time.NewTimer(rand.N(whole))
		select {
		case <-over:
			next.Stop()
			return
		case <-next.C:
		}
		switch {
		case done["servers"] < kills["servers"] && rand.IntN(4) == 0:
			s.Kill()
			s.Restart()
			done["servers"]++
		case done["workers"] < kills["workers"]:
			i := rand.IntN(len(workers))
			endWorker(t, workers[i])
			workers[i] = startWorker(t, s.URL)
			done["workers"]++
		}
	}
}

// startWorker starts tandem worker, which ends with the test.
func startWorker(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "tandem"), "worker", url)
	c.Env = append(os.Environ(), "TMPDIR="+tree) // what a killed process leaves behind goes with the tree
	c.Stderr = &bytes.Buffer{}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Error(err)
	}
	return c
}

// endWorker kills a worker, which does not end by itself.
func endWorker(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if c.Process == nil {
		return
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	said := fmt.Sprint(c.Stderr) // it may have come when the server was killed, and says so
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && !status.Signaled() &&
		!strings.Contains(said, "nobody answers there") {
		t.Errorf("a worker has ended: %v\n%s", c.ProcessState, said)
	}
}
