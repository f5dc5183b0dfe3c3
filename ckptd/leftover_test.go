package ckptd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// leftovers knows what a test has made that must not outlive it.
type leftovers struct {
	own map[string]bool // namespaces of the test itself
	// namespaces are those of the processes below it. They are held open, as the numbers
	// that name them would be given to others.
	namespaces map[string]*os.File
	mounts     string
	files      int // open descriptors
}

func watchLeftovers(t testing.TB) *leftovers {
	t.Helper()
	l := &leftovers{own: namespacesOf(os.Getpid()), namespaces: map[string]*os.File{}}
	l.mounts = mounts(t)
	l.files = testkit.OpenFiles(t)
	return l
}

// mounts returns what is mounted here, a line each. What a container engine mounts for containers
// that happen to run beside the test is left out: Tandem mounts nothing of these kinds.
func mounts(t testing.TB) string {
	var kept strings.Builder
	for line := range strings.Lines(string(testkit.ReadFile(t, "/proc/self/mountinfo"))) {
		if !strings.Contains(line, " - overlay ") && !strings.Contains(line, " - nsfs ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// note records the namespaces of everything that runs below the test, now.
func (l *leftovers) note(t testing.TB) (pids []int) {
	t.Helper()
	pids = descendants(os.Getpid())
	for _, pid := range pids {
		for name := range namespacesOf(pid) {
			kind, _, _ := strings.Cut(name, ":")
			if l.own[name] || l.namespaces[name] != nil {
				continue
			}
			f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
			if err != nil {
				continue // it has just ended
			}
			if now, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || now != name {
				f.Close()
				continue
			}
			l.namespaces[name] = f
		}
	}
	return pids
}

// check fails the test where anything is left.
func (l *leftovers) check(t testing.TB) {
	t.Helper()
	if len(l.namespaces) < 3 {
		t.Errorf("only %d namespaces were ever noted: this check proves nothing", len(l.namespaces))
	}
	for _, pid := range descendants(os.Getpid()) {
		t.Errorf("process %d is left: %s", pid, commandLine(pid))
	}
	for _, e := range glob(t, "/proc/[0-9]*") {
		pid, _ := strconv.Atoi(filepath.Base(e))
		for n := range namespacesOf(pid) {
			if l.namespaces[n] != nil {
				t.Errorf("namespace %s is left in process %d: %s", n, pid, commandLine(pid))
			}
		}
	}
	for _, f := range l.namespaces {
		f.Close()
	}
	if now := mounts(t); now != l.mounts {
		t.Errorf("mounts have changed:\n%s\nbefore:\n%s", now, l.mounts)
	}
	if now := testkit.OpenFiles(t); now > l.files {
		t.Errorf("%d descriptors are open, before there were %d", now, l.files)
	}
	if found := glob(t, "/run/tandem*"); len(found) > 0 {
		t.Errorf("left on the machine: %v", found)
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func namespacesOf(pid int) map[string]bool {
	found := map[string]bool{}
	for _, kind := range []string{"mnt", "net", "pid", "ipc", "uts"} {
		if n, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err == nil {
			found[n] = true
		}
	}
	return found
}

// descendants lists the processes below one, itself excluded.
func descendants(pid int) []int {
	parents := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if fields := statOf(child); fields != nil {
				parent, _ := strconv.Atoi(fields[1])
				parents[parent] = append(parents[parent], child)
			}
		}
	}
	var all []int
	for next := parents[pid]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, parents[next[0]]...)
	}
	return all
}

// statOf returns the fields of /proc/PID/stat from the state on; nil if there is none.
func statOf(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

// stateOf is a process's state; empty if it is gone.
func stateOf(pid int) string {
	if fields := statOf(pid); fields != nil {
		return fields[0]
	}
	return ""
}

func commandLine(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.ReplaceAll(string(b), "\x00", " ")
}

// find returns the processes below the test whose command line holds the text.
func find(text string) []int {
	var found []int
	for _, pid := range descendants(os.Getpid()) {
		if strings.Contains(commandLine(pid), text) {
			found = append(found, pid)
		}
	}
	return found
}

func kill(t testing.TB, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

func TestLeftoversAreFound(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{})
	start(t, c, merecat())
	pids := l.note(t)
	if len(pids) != 3 {
		t.Errorf("%d processes run below the test, not daemon, proxy and merecat", len(pids))
	}
	if found := slices.Collect(maps.Keys(l.namespaces)); len(found) != 3+5 {
		t.Errorf("the daemon and the group have %d namespaces of their own: %v", len(found), found)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}
