package procfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestChildrenOf compares with the files that a pattern finds: children of several threads.
func TestChildrenOf(t *testing.T) {
	release, started, done := make(chan struct{}), make(chan *exec.Cmd), make(chan error)
	const threads = 3
	for range threads {
		go func() {
			done <- osthread.Run(func() error {
				cmd := exec.Command("sleep", "100")
				err := cmd.Start()
				started <- cmd
				<-release
				return err
			})
		}()
	}
	var all []int
	for range threads {
		cmd := <-started
		defer cmd.Wait()
		defer cmd.Process.Kill()
		all = append(all, cmd.Process.Pid)
	}
	var got []int
	// another one of the test may end in between
	testkit.Await(t, "the same children as by a pattern", func() bool {
		var err error
		if got, err = AllChildren(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		return slices.Equal(got, childrenByPattern())
	})
	for _, pid := range all {
		if !slices.Contains(got, pid) {
			t.Errorf("%d is missing in %v", pid, got)
		}
	}
	close(release)
	for range threads {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := AllChildren(1 << 30); err == nil {
		t.Error("a process that is not there has children")
	}
}

// childrenByPattern lists the children of this process.
func childrenByPattern() (all []int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		list, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(field)
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// TestStatusFields compares with what is cut out of each line.
func TestStatusFields(t *testing.T) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	s := Status(text)
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if got := s.Field(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if size := s.Bytes("VmRSS:"); size < 1<<20 || size%1024 != 0 {
		t.Errorf("%d bytes", size)
	}
	for text, want := range map[Status]string{
		"Name:\tends with a space \nUid:\t0\n": "ends with a space ", "Uid:\t0\nName:\tlast": "last",
		"NotName:\tother\n": "", "Name:": "", "": "",
	} {
		if got := text.Field("Name:"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
