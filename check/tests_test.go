package check

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// testBinary is that of testdata/tests.
func testBinary(t *testing.T) TestOptions {
	t.Helper()
	toolchain, err := newToolchain()
	if err != nil {
		t.Fatal(err)
	}
	p, err := toolchain.Build(t.Context(), sut.BuildOptions{Dir: ".", Package: "./testdata/tests",
		Tests: true, Output: filepath.Join(t.TempDir(), "tests")})
	if err != nil {
		t.Fatal(err)
	}
	return TestOptions{Options: Options{Program: p, Package: "tests", Dir: p.Dir, Depth: 10_000},
		NewSearch: dporSearch}
}

// TestTests: every test and subtest has the verdict of its own executions, those inside before
// those around them, and what is violated can be replayed.
func TestTests(t *testing.T) {
	o := testBinary(t)
	var got []string
	kept := map[string]*report.Recording{}
	tell := func(v TestVerdict) error {
		line := v.Name + " " + string(v.Verdict)
		if v.Skipped {
			line += ", skipped"
		}
		if v.Recording != nil {
			line += ", recorded"
			kept[v.Name] = v.Recording
		}
		got = append(got, line)
		return nil
	}
	o.Run, o.Together = "Table|Blocked", true
	if err := Tests(t.Context(), o, tell); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"TestTable/serial/fails violated, recorded",
		"TestTable/serial/skips holds, skipped",
		"TestTable/serial violated",
		"TestTable/dies violated, recorded",
		"TestTable/one violated, recorded",
		"TestTable/two violated, recorded",
		"TestTable/three holds",
		"TestTable violated",
		"TestBlocked/alone violated, recorded",
		"TestBlocked violated",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, recording := range kept {
		if _, err := Replay(o.Program, recording, 2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTestsThatDoNotMatch(t *testing.T) {
	o := testBinary(t)
	for pattern, want := range map[string]error{"Nothing": ErrNoMatch, "Test(": nil} {
		o.Run = pattern
		err := Tests(t.Context(), o, func(TestVerdict) error { return nil })
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", pattern, err, want)
		}
	}
	gone := errors.New("nobody listens")
	o.Run = "TestMany"
	if err := Tests(t.Context(), o, func(TestVerdict) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("%v, want that of who is told", err)
	}
}

// TestInterruptTests: the test under way is unknown, and those after it, none of which is begun.
func TestInterruptTests(t *testing.T) {
	o := testBinary(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	o.observe = seeing(func(explore.Execution) {
		if seen++; seen == 5 {
			cancel()
		}
	})
	var got []TestVerdict
	if err := Tests(ctx, o, func(v TestVerdict) error { got = append(got, v); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) < 2 || got[0].Name != "TestMany" || got[0].Verdict != report.Unknown ||
		got[0].Reason != "it was interrupted" {
		t.Fatalf("%+v, want TestMany, unknown since it was interrupted, and the others", got)
	}
	names, err := listTests(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got[1:] {
		if v.Name != names[i+1] || v.Verdict != report.Unknown ||
			v.Reason != "the check was interrupted before" || v.Executions > 0 {
			t.Errorf("%+v, want %s, unknown since it was not begun", v, names[i+1])
		}
	}
	if len(got) != len(names) {
		t.Errorf("%d verdicts, want %d", len(got), len(names))
	}
}
