package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// spoken is what a process prints while it runs.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestProtocolInterrupted: a search over states that is interrupted goes on when the same command
// is given again. The server has what it needs, and other processes are the parts.
func TestProtocolInterrupted(t *testing.T) {
	s := natsd.Start(t, t.TempDir())
	// There are two models, so that time is left when the first levels are done.
	args := []string{together, "--distribute", s.URL, "--parts", "2", "--partition", "part",
		"--checkpoint", "1ms", "--", "twophase:8", "twophase:8"}
	begin := func(args ...string) (*exec.Cmd, *spoken) {
		c, log := exec.Command(filepath.Join(bin, "tandem"), args...), &spoken{}
		c.Dir, c.Stdout, c.Stderr = "../..", log, log
		c.Env = append(os.Environ(), "TMPDIR="+tree)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c, log
	}
	end := func(c *exec.Cmd, signal os.Signal) error {
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		return c.Wait()
	}
	worker, _ := begin("worker", s.URL)
	lead, log := begin(append([]string{"protocol"}, args...)...)
	later := regexp.MustCompile(", depth [1-9]")
	testkit.Await(t, "some levels are done", func() bool { return later.MatchString(log.String()) })
	err := end(lead, os.Interrupt)
	_ = end(worker, os.Kill)
	if err == nil || !strings.Contains(log.String(), "goes on") {
		t.Fatalf("error %v; want that it was interrupted, and how it goes on:\n%s", err, log)
	}
	other, _ := begin("worker", s.URL)
	out, rest, _ := runTogether(t, 0, args...)
	_ = end(other, os.Interrupt)
	const want = "twophase:8: holds, 1745408 states, 27467777 transitions, depth 25, 545 local states, " +
		"24 messages, 4417 handlers run\n"
	if out != want+want || !strings.Contains(rest, "going on with a search that another check has begun") {
		t.Errorf("%s%s\nwant that it has gone on, and twice\n%s", out, rest, want)
	}
}
