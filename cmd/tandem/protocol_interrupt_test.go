package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// group is a tandem in a group of processes of its own, as a shell starts a command. It ends with
// the test at the latest.
type group struct {
	*exec.Cmd
	log *spoken
	end func() error // waits for the end
}

func beginGroup(t *testing.T, args ...string) *group {
	t.Helper()
	g := &group{Cmd: exec.Command(filepath.Join(bin, "tandem"), args...), log: &spoken{}}
	g.Dir, g.Stdout, g.Stderr = "../..", g.log, g.log
	g.Env = append(os.Environ(), "TMPDIR="+tree)
	g.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	g.end = sync.OnceValue(g.Wait)
	t.Cleanup(func() {
		_ = syscall.Kill(-g.Process.Pid, syscall.SIGKILL)
		_ = g.end()
	})
	return g
}

// send sends a signal to all of the group, as a terminal does for Ctrl-C, and returns how tandem
// has ended.
func (g *group) send(s syscall.Signal) error {
	return errors.Join(syscall.Kill(-g.Process.Pid, s), g.end())
}

// child is the one process that tandem has started.
func (g *group) child(t *testing.T) int {
	t.Helper()
	children := descendants(g.Process.Pid, nil)
	if len(children) != 1 {
		t.Fatalf("tandem has the processes %v, and there should be one", children)
	}
	return children[0]
}

// told are the numbers that a regular expression finds first or last in what was printed.
func told(t *testing.T, text, expression string, isLast bool) int {
	t.Helper()
	all := regexp.MustCompile(expression).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		t.Fatalf("%q is not in\n%s", expression, text)
	}
	found := all[0]
	if isLast {
		found = all[len(all)-1]
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestProtocolInterrupted: a search over states that is interrupted goes on when the same command
// is given again. The server has what it needs, and other processes are the parts. So it is when
// the program that leads is killed, and tandem is there still.
func TestProtocolInterrupted(t *testing.T) {
	for name, interrupt := range map[string]func(*testing.T, *group) error{
		"Ctrl-C": func(t *testing.T, g *group) error {
			if own, err := syscall.Getpgid(g.child(t)); err != nil || own == g.Process.Pid {
				t.Errorf("the program is in group %d, that of tandem; error %v", own, err)
			}
			return g.send(syscall.SIGINT)
		},
		"killed": func(t *testing.T, g *group) error {
			err := errors.Join(syscall.Kill(g.child(t), syscall.SIGKILL), g.end())
			if want := "the process that leads was ended (signal: killed)"; !strings.Contains(g.log.String(),
				want) || !strings.Contains(g.log.String(), "run the same command again") {
				t.Errorf("want %q and what to do:\n%s", want, g.log)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { goesOn(t, interrupt) })
	}
}

func goesOn(t *testing.T, interrupt func(*testing.T, *group) error) {
	s := natsd.Start(t, t.TempDir())
	// There are two models, so that time is left when the first levels are done.
	args := []string{together, "--distribute", s.URL, "--parts", "2", "--partition", "part",
		"--checkpoint", "1ms", "--", "twophase:8", "twophase:8"}
	worker := beginGroup(t, "worker", s.URL)
	lead := beginGroup(t, append([]string{"protocol"}, args...)...)
	const depth, states = `states, .*, depth (\d+)`, `(\d+) states, `
	// A machine that is busy has 20 s for each of these.
	for _, levels := range []string{`[1-9]`, `([7-9]|1\d)`, `1\d`} {
		later := regexp.MustCompile(", depth " + levels)
		testkit.Await(t, "some levels are done", func() bool { return later.MatchString(lead.log.String()) })
	}
	err := interrupt(t, lead)
	_ = worker.send(syscall.SIGKILL)
	before := lead.log.String()
	if err == nil || !strings.Contains(before, "goes on, with the checkpoints") {
		t.Fatalf("error %v; want that it was interrupted, and how it goes on:\n%s", err, before)
	}
	other := beginGroup(t, "worker", s.URL)
	out, rest, _ := runTogether(t, 0, args...)
	_ = other.send(syscall.SIGINT)
	const want = "twophase:8: holds, 1745408 states, 27467777 transitions, depth 25, 545 local states, " +
		"24 messages, 4417 handlers run\n"
	if out != want+want || !strings.Contains(rest, "going on with a search that another check has begun") {
		t.Errorf("%s%s\nwant that it has gone on, and twice\n%s", out, rest, want)
	}
	// It begins where it was, and the parts with what they had saved.
	if was, is := told(t, before, depth, true), told(t, rest, depth, false); is < was {
		t.Errorf("it goes on at depth %d, and was at %d:\n%s", is, was, rest)
	}
	was := told(t, before, states, true)
	if again := told(t, rest, `(\d+) states were expanded again`, false); again >= was {
		t.Errorf("%d states were expanded again of %d:\n%s", again, was, rest)
	}
}
