package check

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// buildCalls builds testdata/calls, whose library is another module, and sealed.
func buildCalls(t *testing.T) *sut.Program {
	t.Helper()
	toolchain, err := newToolchain()
	if err != nil {
		t.Fatal(err)
	}
	p, err := toolchain.Build(context.Background(),
		sut.BuildOptions{Dir: "testdata/calls", Package: ".", Output: filepath.Join(t.TempDir(), "sut")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBetweenTwoCalls: between two calls of a sealed library a goroutine is in its own package,
// where it can be preempted. Within one call it cannot.
func TestBetweenTwoCalls(t *testing.T) {
	p := buildCalls(t)
	for _, c := range []struct {
		first, second string
		want          []string
	}{
		{"one call", "one call", []string{" 2"}},
		{"two calls", "two calls", []string{" 1", " 2"}},
		{"two calls", "one call", []string{" 1", " 2"}},
		{"a loop", "looks twice", []string{"0 0 2", "0 1 2", "0 2 2", "1 1 2", "1 2 2", "2 2 2"}},
		{"looks twice", "nothing", []string{"0 0 0"}},
		{"called back", "called back", []string{" 2"}},
		{"calls inside", "calls inside", []string{" 1", " 2"}},
		{"serves", "looks", []string{"false 0 7", "false 7 7", "true 0 7", "true 7 7"}},
	} {
		want := map[string]bool{}
		for _, text := range c.want {
			want[text+"\n completed"] = true
		}
		for name, s := range map[string]*explore.Search{"dpor": dporSearch(), "dfs": dfsSearch()} {
			got, _ := outcomesWith(t, p, sut.Options{Args: []string{c.first, c.second}}, s)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s and %s, %s: outcomes (-want +got):\n%s", c.first, c.second, name, diff)
			}
		}
	}
}

// TestCallsReturn: that calls are watched makes no difference for what they return and how they
// end, nor for who looks at the stack, moves it or takes it down.
func TestCallsReturn(t *testing.T) {
	native := exec.Command("go", "run", ".")
	native.Dir = "testdata/calls"
	out, err := native.Output()
	if err != nil {
		t.Fatal(err)
	}
	p := buildCalls(t)
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w, err := sut.Start(p, sut.Options{Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for seed := range uint64(10) {
			log, err := w.Run(sut.Schedule{Seed: seed}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if log.Outcome != sut.Completed {
				t.Fatalf("seed %d: %v %s\n%s", seed, log.Outcome, log.Message, log.Stderr)
			}
			if diff := cmp.Diff(strings.Split(string(out), "\n"),
				strings.Split(string(log.Stdout), "\n")); diff != "" {
				t.Fatalf("seed %d: natively (-) and under control (+) it prints:\n%s", seed, diff)
			}
		}
	}
}
