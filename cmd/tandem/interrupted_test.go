package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/terminal"
)

// endless is a program with more executions than anybody waits for.
const endless = `package main

import "sync"

func main() {
	var m sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { m.Lock(); m.Unlock() })
	}
	wg.Wait()
}
`

// TestInterruptedOnTerminal presses Ctrl-C while a check shows how far it is: it ends as by
// SIGINT, with its result, and with the terminal as it was.
func TestInterruptedOnTerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/endless\n\ngo 1.25\n",
		"main.go": endless} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x := terminal.Open(t, 100, 30)
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "tandem"), "check", ".", "--search", "random", "--executions",
		"1000000000", "--time", "1h")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, x.TTY, &out, x.TTY
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.Program = cmd.Process
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	shown := func(screen string) bool { return strings.Contains(screen, "executions") }
	x.Await(t, "progress", func(screen string) bool { return shown(screen) && x.Hidden })
	if _, err := x.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	x.Await(t, "an empty view", func(screen string) bool { return !shown(screen) && !x.Hidden })
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitUnknown {
		t.Errorf("%v, want exit code %d", err, exitUnknown)
	}
	if !strings.HasPrefix(out.String(), "UNKNOWN: it was interrupted\n") ||
		strings.Contains(out.String(), "\x1b") {
		t.Errorf("the result is %q", out.String())
	}
}
