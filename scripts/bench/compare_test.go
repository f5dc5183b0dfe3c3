package main

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/scripts/internal/tests"
)

const file = `commit: 1234567
go: go1.26.8
BenchmarkHit/depth-1-2   1000   50.0 ns/op   3 allocs/op
BenchmarkHit/depth-1-2   1000   70.0 ns/op   3 allocs/op
BenchmarkOther   1   0 ns/op   12.5 executions/s
PASS
`

func TestParse(t *testing.T) {
	want := []series{
		{"BenchmarkHit/depth-1-2", "ns/op", []float64{50, 70}},
		{"BenchmarkHit/depth-1-2", "allocs/op", []float64{3, 3}},
		{"BenchmarkOther", "ns/op", []float64{0}},
		{"BenchmarkOther", "executions/s", []float64{12.5}},
	}
	if got := parse(file); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := parse("Benchmark\nBenchmarkX 1 no ns/op\n"); got != nil {
		t.Errorf("%v of what is no benchmark", got)
	}
}

func TestRatios(t *testing.T) {
	var out strings.Builder
	if err := ratios(&out, parse(file), parse(strings.ReplaceAll(file, "50.0", "20.0"))); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4:\n%s", len(lines), out.String())
	}
	if got := strings.Join(strings.Fields(lines[1]), " "); got != "BenchmarkHit/depth-1-2 ns/op 60 45 0.750" {
		t.Error(got)
	}
}

// TestMissing: a benchmark that is gone is an error, in the list of the hot ones and in a
// comparison.
func TestMissing(t *testing.T) {
	found, err := tests.Find("../..", "Benchmark")
	if err != nil {
		t.Fatal(err)
	}
	if gone := missing(found); gone != nil {
		t.Errorf("there is no %v", gone)
	}
	if gone := missing(nil); !slices.Equal(gone, hot) {
		t.Errorf("without any, only %v are missing", gone)
	}
	now := strings.ReplaceAll(file, "BenchmarkOther", "BenchmarkRenamed")
	err = ratios(io.Discard, parse(file), parse(now))
	if err == nil || !strings.Contains(err.Error(), "BenchmarkOther in ns/op") {
		t.Errorf("BenchmarkOther is gone: error %v", err)
	}
}

func TestFacts(t *testing.T) {
	if got := facts("."); strings.Count(got, "\n") != 5 || !strings.Contains(got, "go: go1.") {
		t.Errorf("facts %q", got)
	}
}
