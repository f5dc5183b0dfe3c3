package sut_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// filesProgram is the program that observes the file system, built under control.
func filesProgram(t testing.TB) *sut.Program {
	t.Helper()
	p, err := build(t.TempDir(), "./testdata/files")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// furnish makes a directory in which the program runs.
func furnish(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "full"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "full/one"), []byte("1"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "full/two"), []byte("2"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "config"), bytes.Repeat([]byte("configured\n"), 60)[:600], 0o644))
	must(os.Symlink("full", filepath.Join(dir, "link")))
	return dir
}

// TestFilesAreLikeNative compares what a program sees of the file system under
// control with what it sees of the kernel's, line by line.
func TestFilesAreLikeNative(t *testing.T) {
	native := filepath.Join(t.TempDir(), "files")
	if out, err := exec.Command("go", "build", "-o", native, "./testdata/files").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(native)
	cmd.Dir, cmd.Stdin = furnish(t), strings.NewReader("some input")
	want, err := cmd.Output()
	if err != nil {
		t.Fatalf("natively: %v", err)
	}
	if n := bytes.Count(want, []byte("\n")); n < 150 {
		t.Fatalf("%d observations; there are more", n)
	}
	p := filesProgram(t)
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		dir := furnish(t)
		w, err := sut.Start(p, sut.Options{Dir: dir, Isolation: isolation, World: sut.World{Stdin: []byte("some input")}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for range 3 {
			log := run(t, w, sut.Schedule{}, nil)
			if log.Outcome != sut.Completed {
				t.Errorf("%v: %s%s", log.Outcome, log.Message, log.Stderr)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(log.Stdout), "\n")); diff != "" {
				t.Fatalf("native and controlled differ:\n%s", diff)
			}
		}
	}
}

// TestFilesArePutBack runs a program that changes files of all kinds again and
// again, and looks at what it and others find.
func TestFilesArePutBack(t *testing.T) {
	w := start(t, sut.Snapshot, "files")
	mounts, memory := mountsOf(t), 0
	for i := range 1000 {
		log := run(t, w, sut.Schedule{}, nil)
		if log.Outcome != sut.Completed || string(log.Stdout) != "as it was <nil>\n" {
			t.Fatalf("execution %d: %v, %q: %s", i, log.Outcome, log.Stdout, log.Stderr)
		}
		if i == 10 {
			memory = residentKiB(t, w.Pid())
		}
	}
	if grown := residentKiB(t, w.Pid()) - memory; grown > 1024 {
		t.Errorf("the worker has grown by %d KiB", grown)
	}
	if now := mountsOf(t); now != mounts {
		t.Errorf("the mounts are now\n%s", now)
	}
	for _, name := range []string{"/tmp/tandem-files", "/tmp/tandem-initial"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("the machine has %s now", name)
		}
	}
	for _, name := range []string{"/etc/hostname", "/etc/passwd", "/etc/group"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("the machine's %s has changed: %v", name, err)
		}
	}
}

func mountsOf(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func residentKiB(t *testing.T, pid int) (n int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
