package sut_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	dir := filepath.Join(t.TempDir(), "always/the/same/above")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "full"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "full/one"), []byte("1"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "full/two"), []byte("2"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "config"), bytes.Repeat([]byte("configured\n"), 60)[:600], 0o644))
	must(os.Symlink("full", filepath.Join(dir, "link")))
	return dir
}

// TestFilesAreLikeNative compares what a program sees of the file system under
// control with what it sees of the kernel's, line by line.
func TestFilesAreLikeNative(t *testing.T) {
	native, controlled := nativeFiles(t), filesProgram(t)
	want := native(t, "some input")
	if n := len(want); n < 200 {
		t.Fatalf("%d observations; there are more", n)
	}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		o := sut.Options{Dir: furnish(t), Isolation: isolation,
			Environment: sut.Environment{Stdin: []byte("some input")}}
		compareFiles(t, controlled, o, want, 3)
	}
}

// TestRandomFileOperations does the same with random operations on few names.
func TestRandomFileOperations(t *testing.T) {
	native, controlled := nativeFiles(t), filesProgram(t)
	for seed := range *fileSeeds {
		arg := fmt.Sprint(seed + 1)
		want := native(t, "", arg)
		compareFiles(t, controlled, sut.Options{Args: []string{arg}, Dir: furnish(t)}, want, 2)
	}
}

var fileSeeds = flag.Int("file-seeds", 20,
	"programs of 300 random operations on files to compare with the kernel")

// nativeFiles returns a function that runs the program without control.
func nativeFiles(t *testing.T) func(t *testing.T, stdin string, args ...string) []string {
	path := filepath.Join(t.TempDir(), "files")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", path,
		"./testdata/files").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(t *testing.T, stdin string, args ...string) []string {
		cmd := exec.Command(path, args...)
		cmd.Dir, cmd.Stdin = furnish(t), strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("natively: %v", err)
		}
		return strings.Split(string(out), "\n")
	}
}

// compareFiles runs the program under control, several times in one worker.
func compareFiles(t *testing.T, p *sut.Program, o sut.Options, want []string, times int) {
	w, err := sut.Start(p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range times {
		log := run(t, w, sut.Schedule{}, nil)
		if log.Outcome != sut.Completed {
			t.Errorf("%v: %s%s", log.Outcome, log.Message, log.Stderr)
		}
		if diff := cmp.Diff(want, strings.Split(string(log.Stdout), "\n")); diff != "" {
			t.Fatalf("%v: native and controlled differ:\n%s", o.Args, diff)
		}
	}
}

// TestFilesArePutBack runs a program that changes files of all kinds again and
// again, and looks at what it and others find.
func TestFilesArePutBack(t *testing.T) {
	filesArePutBack(t, sut.FromMain, 1024)
	filesArePutBack(t, sut.Snapshot, 1024+64<<10) // what places may take
}

func filesArePutBack(t *testing.T, isolation sut.Isolation, mostKiB int) {
	t.Helper()
	w := start(t, isolation, "files")
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
	if grown := residentKiB(t, w.Pid()) - memory; grown > mostKiB {
		t.Errorf("the worker has grown by %d KiB, isolation %v", grown, isolation)
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

// BenchmarkFiles is what isolation costs a program that writes a file, beside one
// that does the same without it.
func BenchmarkFiles(b *testing.B) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		without, with := start(b, isolation, "counter"), start(b, isolation, "one file")
		b.Run(map[sut.Isolation]string{sut.Snapshot: "snapshot", sut.Fork: "fork"}[isolation],
			func(b *testing.B) {
				var spent [2]time.Duration
				executions := 0
				for b.Loop() {
					for i, w := range []*sut.Worker{without, with} {
						began := time.Now()
						for range 50 {
							if log := run(b, w, sut.Schedule{}, nil); log.Outcome != sut.Completed {
								b.Fatalf("%v: %s", log.Outcome, log.Stderr)
							}
						}
						spent[i] += time.Since(began)
					}
					executions += 50
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(executions)/spent[0].Seconds(), "executions/s")
				b.ReportMetric(float64(executions)/spent[1].Seconds(), "writing-executions/s")
			})
	}
}
