package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// put writes a file.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// get reads a file.
func get(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMedianTwin: as many values are below the median as above it.
func TestMedianTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 15).Draw(t, "values")
		kept := slices.Clone(values)
		m := median(values)
		below, above := 0, 0
		for _, v := range values {
			if v < m {
				below++
			}
			if v > m {
				above++
			}
		}
		if half := len(values) / 2; below > half || above > half {
			t.Fatalf("%v has the median %v: %d are below, %d above", values, m, below, above)
		}
		if !slices.Equal(values, kept) {
			t.Fatalf("the values were sorted: %v", values)
		}
	})
	for want, values := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(values); got != want {
			t.Errorf("%v: %v, want %v", values, got, want)
		}
	}
}

// TestFilesOfBenchmarks: a file without a benchmark is an error, and so is one that is not there.
func TestFilesOfBenchmarks(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	put(t, empty, "commit: 1\nPASS\n")
	if _, err := read(empty); err == nil || err.Error() != empty+": there is no benchmark" {
		t.Errorf("%v", err)
	}
	if _, err := read(empty + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	good := filepath.Join(t.TempDir(), "good.txt")
	put(t, good, file)
	if all, err := read(good); err != nil || len(all) != 4 {
		t.Errorf("%v, %v", all, err)
	}
	for _, pair := range [][2]string{{empty, good}, {good, empty}} {
		if err := compare(io.Discard, pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), empty) {
			t.Errorf("%v", err)
		}
	}
}

// TestRatiosOfWhatBothHave: what is new, or was zero, has no ratio.
func TestRatiosOfWhatBothHave(t *testing.T) {
	old := []series{{"A", "ns/op", []float64{10}}, {"B", "ns/op", []float64{0}}}
	now := []series{{"A", "ns/op", []float64{20, 10, 30}}, {"B", "ns/op", []float64{5}}, {"C", "ns/op",
		[]float64{1}}}
	var out strings.Builder
	if err := ratios(&out, old, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || strings.Join(strings.Fields(lines[1]), " ") != "A ns/op 10 20 2.000" {
		t.Errorf("%q", lines)
	}
}

// TestWriting: the first round writes a file anew, the others go on with it.
func TestWriting(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench.txt")
	put(t, name, "of an earlier run, and longer")
	if err := errors.Join(write(name, "one\n", false), write(name, "two\n", true)); err != nil {
		t.Fatal(err)
	}
	if got := get(t, name); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	if err := write(filepath.Join(name, "x"), "", false); err == nil {
		t.Error("a file below a file was written")
	}
}

// module is a tree with two benchmarks, one of which is a hot one, and a go command in PATH that
// says what it is asked for. It fails for the other one.
func module(t *testing.T) string {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "x_test.go"),
		"package x\n\nfunc BenchmarkHit() {}\n\nfunc BenchmarkCold() {}\n")
	script := "#!/bin/sh\necho \"$*\" >>asked\ncase \"$*\" in\n" +
		"env*) echo go1.26.1 ;;\n*Cold*) echo broken; exit 1 ;;\n" +
		"*) echo 'BenchmarkHit-2 100 5.0 ns/op'; echo PASS ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return dir
}

// TestMeasure: the hot benchmarks of a tree are run in it, so many rounds, and their file begins
// with the facts once.
func TestMeasure(t *testing.T) {
	dir := module(t)
	result := filepath.Join(t.TempDir(), "bench.txt")
	silence(t)
	if err := measure(map[string]string{dir: result}, false, 2); err != nil {
		t.Fatal(err)
	}
	text := get(t, result)
	if strings.Count(text, "commit: ") != 1 || !strings.HasPrefix(text, "commit: ") ||
		!strings.Contains(text, "go: go1.26.1\n") {
		t.Errorf("facts:\n%s", text)
	}
	all := parse(text)
	if len(all) != 1 || all[0].name != "BenchmarkHit-2" || !slices.Equal(all[0].values, []float64{5, 5}) {
		t.Errorf("%v in\n%s", all, text)
	}
	const asked = "test ./. -run ^$ -bench ^(BenchmarkHit)$ -timeout 30m\n"
	if got := get(t, filepath.Join(dir, "asked")); strings.Count(got, asked) != 2 {
		t.Errorf("the go command was asked for %q, want %q twice", got, asked)
	}
	err := measure(map[string]string{dir: result}, true, 1)
	if err == nil || err.Error() != ".: exit status 1" {
		t.Errorf("a benchmark that fails: %v", err)
	}
}

// silence has what a test writes to standard output go nowhere.
func silence(t *testing.T) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := os.Stdout
	os.Stdout = null
	t.Cleanup(func() { os.Stdout = out; null.Close() })
}

// TestMissingHotOnes: in this tree all hot benchmarks have to be there; another tree may lack some.
func TestMissingHotOnes(t *testing.T) {
	t.Chdir(module(t))
	if _, err := benchmarks(".", false); err == nil ||
		!strings.Contains(err.Error(), "there is no BenchmarkLastZero") {
		t.Errorf("%v", err)
	}
}

// TestKeep: what was measured takes the place of the kept file; without it nothing changes.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := errors.Join(os.MkdirAll("bin", 0o755), os.MkdirAll("scripts/bench", 0o755)); err != nil {
		t.Fatal(err)
	}
	put(t, kept, "old")
	if err := run([]string{"keep"}, false, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing was measured: %v", err)
	}
	put(t, results, "new")
	if err := run([]string{"keep"}, false, 1); err != nil || get(t, kept) != "new" {
		t.Errorf("%q, %v", get(t, kept), err)
	}
}

// TestExecute: a command that fails is named, with its words and what it said.
func TestExecute(t *testing.T) {
	dir := t.TempDir()
	if err := execute(dir, "touch", "made"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Errorf("it ran elsewhere: %v", err)
	}
	err := execute(dir, "sh", "-c", "echo out; echo wrong >&2; exit 2")
	if want := "sh -c echo out; echo wrong >&2; exit 2: exit status 2\nout\nwrong\n"; err == nil ||
		err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
