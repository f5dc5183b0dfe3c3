package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKill ends, at random moments, each of the processes that take part in a
// check. Peers are brought back; where that is not possible, or they then answer differently,
// the check must end with an error that names what has died. It must leave nothing behind.
func TestKill(t *testing.T) {
	first, times := rand.IntN(2), 1 // at once, or a moment later
	if *deep {
		first, times = 0, 4
	}
	dropbear := []string{"./examples/scpto/fixed", "-c", "examples/scpto/tandem.yaml"}
	// The peer of this one is asked something new all the time.
	alphabet := []string{"./examples/alphabet", "--backend", "criu", "-c",
		filepath.Join(tree, "examples/alphabet/random.yaml"), "--", "-connections", "3", "-requests", "3"}
	// A death in the middle of a dump or restore may show as CRIU's failure first.
	const orGroup = "|the peer group is not running"
	for _, victim := range []struct {
		name string
		is   func(process) bool
		says string
		args []string
		back bool // the check may go on
	}{
		{"dropbear", func(p process) bool { return strings.HasPrefix(p.command, "dropbear ") },
			"dropbear" + orGroup, dropbear, true},
		{"criu", func(p process) bool { return strings.Contains(p.command, "criu swrk") }, "(?i)criu.*killed",
			alphabet, true},
		{"proxy", func(p process) bool { return strings.Contains(p.command, "tandem-proxy") },
			"proxy" + orGroup, alphabet, true},
		{"ckptd", func(p process) bool { return strings.Contains(p.command, "tandem-ckptd") },
			"tandem-ckptd died", alphabet, false},
		{"worker", func(p process) bool { return p.own && strings.HasSuffix(p.executable, "/program") },
			"worker process ended unexpectedly", dropbear, false},
	} {
		t.Run(victim.name, func(t *testing.T) {
			for i := range times {
				killOnce(t, first+i, victim.is, victim.says, victim.back, victim.args)
			}
		})
	}
}

func killOnce(t *testing.T, round int, is func(process) bool, says string, back bool, args []string) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	// Later tests look for no orphans. They leave theirs to the init process.
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	before, temporary := surroundings(t), t.TempDir()
	var out bytes.Buffer
	// A search of all schedules, so that it is still under way when the blow falls.
	limit := "30s"
	if back {
		limit = "2s"
	}
	cmd := exec.Command(filepath.Join(bin, "tandem"),
		append([]string{"check", "--search", "dfs", "--strategy", "always", "--time", limit}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := killDescendant(cmd.Process.Pid, is,
		time.Duration(round)*time.Duration(rand.IntN(150))*time.Millisecond)
	err := cmd.Wait()
	if !killed {
		t.Fatalf("round %d: there was nothing to kill:\n%s", round, &out)
	}
	var exit *exec.ExitError
	want := exitError
	// The check has gone on until its time was over.
	if back && errors.As(err, &exit) && exit.ExitCode() == exitUnknown {
		want, says = exitUnknown, "UNKNOWN"
	}
	if !errors.As(err, &exit) || exit.ExitCode() != want {
		t.Errorf("round %d: %v, want exit code %d:\n%s", round, err, want, &out)
	}
	if !regexp.MustCompile(says).MatchString(out.String()) {
		t.Errorf("round %d: the message does not say %q:\n%s", round, says, &out)
	}
	left := leftBehind(t, before)
	if files, err := os.ReadDir(temporary); err != nil || len(files) > 0 {
		left += fmt.Sprintf("\ntemporary files %v, %v", files, err)
	}
	if left != "" {
		t.Errorf("round %d: something was left behind:\n%s\n%s", round, left, &out)
	}
}

// process is a running process.
type process struct {
	pid        int
	executable string
	command    string
	own        bool // a child of the ancestor: a copy that a worker has forked need not be missed
}

// killDescendant waits for a descendant that is looked for, and then a while,
// and ends it. It reports false if the ancestor has none left.
func killDescendant(ancestor int, is func(process) bool, after time.Duration) bool {
	strike := time.Time{}
	// A look takes a processor for a millisecond, which what is looked for needs.
	for started := time.Now(); time.Since(started) < 2*time.Minute; time.Sleep(time.Millisecond) {
		for _, pid := range descendants(ancestor, nil) {
			p, ok := readProcess(pid)
			if p.own = childOf(pid, ancestor); !ok || !is(p) {
				continue
			}
			if strike.IsZero() {
				strike = time.Now().Add(after)
			}
			if time.Now().After(strike) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
			break // not the others: they may be what it has forked, whose end the program notices
		}
	}
	return false
}

// leftBehind is what is there now and was not before, once what the kernel still
// ends has had the time to: the processes of a worker end with it, not before it.
func leftBehind(t *testing.T, before map[string]bool) string {
	left := difference(before, surroundings(t))
	for deadline := time.Now().Add(20 * time.Second); left != "" && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		left = difference(before, surroundings(t))
	}
	return left
}

func childOf(pid, parent int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", parent))
}

func descendants(pid int, list []int) []int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(children)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = descendants(child, append(list, child))
			}
		}
	}
	return list
}

func readProcess(pid int) (process, bool) {
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return process{}, false
	}
	executable, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return process{pid: pid, executable: executable,
		command: strings.ReplaceAll(string(command), "\x00", " ")}, true
}

// surroundings is what a check could leave behind: processes, which come to
// this one when their parents end, and mounts.
func surroundings(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, pid := range descendants(os.Getpid(), nil) {
		var status syscall.WaitStatus
		if p, ok := readProcess(pid); ok && p.command != "" {
			found[fmt.Sprintf("process %d %s, in %s", p.pid, p.command, namespaces(pid))] = true
		} else if _, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err != nil {
			found[fmt.Sprintf("zombie %d", pid)] = true
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		found["mount "+line] = true
	}
	return found
}

// namespaces are those that a process keeps alive.
func namespaces(pid int) string {
	var list []string
	for _, kind := range []string{"net", "mnt", "pid", "ipc", "uts"} {
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err == nil {
			list = append(list, ns)
		}
	}
	return strings.Join(list, " ")
}

func difference(before, after map[string]bool) string {
	var lines []string
	for x := range after {
		if !before[x] {
			lines = append(lines, x)
		}
	}
	return strings.Join(lines, "\n")
}
