package check

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
)

// turnsOptions checks the program of testdata/turns.
func turnsOptions(t testing.TB, args ...string) Options {
	t.Helper()
	p := built["turns"]
	if p == nil {
		var err error
		if p, err = buildProgram("testdata/turns", filepath.Join(tree, "program", "turns")); err != nil {
			t.Fatal(err)
		}
		built["turns"] = p
	}
	return Options{Program: p, Package: "./testdata/turns", Args: args, Depth: 10_000}
}

// savingIn saves in a directory, as a new run or going on with the one that is there.
func savingIn(t *testing.T, dir string, resume bool) *Saving {
	t.Helper()
	open := saved.New
	if resume {
		open = saved.Open
	}
	run, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &Saving{Run: run, Interval: time.Millisecond, Asked: func() ([]byte, error) {
		return []byte(`"test"`), nil
	},
		Failed: func(err error) { t.Error(err) }}
}

// session runs a check until its end, or until it is interrupted.
func session(t *testing.T, o Options, interrupt time.Duration) *Result {
	t.Helper()
	defer o.Saving.Run.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if interrupt > 0 {
		defer time.AfterFunc(interrupt, cancel).Stop()
	}
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// inSessions runs a check that is interrupted at random moments, so many times, and then goes on to
// its end.
func inSessions(t *testing.T, o Options, newSearch func() *explore.Search, times int,
	moment time.Duration) *Result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	resume, interrupted := false, 0
	for {
		o.Search, o.Saving = newSearch(), savingIn(t, dir, resume)
		interrupt := time.Duration(0)
		if interrupted < times {
			interrupt = 1 + rand.N(moment)
		}
		result := session(t, o, interrupt)
		if result.Verdict.Reason != "it was interrupted" {
			_, err := os.Stat(dir)
			if gone := errors.Is(err, os.ErrNotExist); gone != (result.Saved == "") ||
				gone == (result.Verdict.Kind == explore.Unknown) {
				t.Errorf("the verdict is %v, the check is saved in %q, and of the directory: %v",
					result.Verdict.Kind, result.Saved, err)
			}
			t.Logf("%d interruptions", interrupted)
			return result
		}
		resume = result.Saved != "" // nothing is kept of a check without an execution
		interrupted++
	}
}

// conclusion is what must not depend on interruptions.
type conclusion struct {
	Verdict                          explore.Verdict
	Hits, Misses, SelfChecked, Found int
	Text                             string // of the counterexample
}

func conclusionOf(t *testing.T, r *Result) conclusion {
	t.Helper()
	o := conclusion{Verdict: r.Verdict, Hits: r.Counts.Hits, Misses: r.Counts.Misses,
		SelfChecked: r.Counts.SelfChecked, Found: len(r.Violations)}
	if r.Counterexample != nil {
		shown := *r.Counterexample
		shown.Run = report.Run{} // it says how long the search took
		var out bytes.Buffer
		if err := text.Write(&out, &shown, report.Options{Unfold: true}); err != nil {
			t.Fatal(err)
		}
		o.Text = out.String()
	}
	return o
}

// TestResume interrupts checks at random moments. Their verdicts, counts and counterexamples are
// those of one that is not interrupted.
func TestResume(t *testing.T) {
	letters := example{alphabet.pkg, alphabet.config, []string{"-connections", "2", "-requests", "1"}}
	random := func() *explore.Search { return randomSearch(2000, 5) }
	for _, test := range []struct {
		name      string
		options   func(t testing.TB) Options
		newSearch func() *explore.Search
	}{
		{"dpor", func(t testing.TB) Options { return turnsOptions(t, "4", "2") }, dporSearch},
		{"dpor, violated", func(t testing.TB) Options { return turnsOptions(t, "4", "2", "33221010") },
			dporSearch},
		{"dfs", func(t testing.TB) Options { return turnsOptions(t, "2", "2") }, dfsSearch},
		{"dfs, violated", func(t testing.TB) Options { return turnsOptions(t, "2", "2", "1100") }, dfsSearch},
		{"random", func(t testing.TB) Options { return turnsOptions(t, "3", "2") }, random},
		{"random, violated", func(t testing.TB) Options { return turnsOptions(t, "3", "2", "220011") },
			random},
		{"peers, dpor", letters.options, dporSearch},
		{"peers, dfs", letters.options, func() *explore.Search { return maxExecutions(dfsSearch(), 500) }},
		{"peers, random", letters.options, func() *explore.Search { return randomSearch(200, 5) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.options(t)
			o.SelfCheck = 50
			o.Search = test.newSearch()
			want := check(t, o)
			times := cases(8, 4)
			if o.Group != nil {
				times = cases(4, 2) // each time the peers start anew
			}
			got := inSessions(t, o, test.newSearch, times, want.Counts.Elapsed/4)
			if diff := cmp.Diff(conclusionOf(t, want), conclusionOf(t, got)); diff != "" {
				t.Errorf("(-uninterrupted +resumed)\n%s", diff)
			}
			t.Logf("%v, %d executions, %v", got.Verdict.Kind, got.Verdict.Executions, want.Counts.Elapsed)
		})
	}
}

// TestResumeWorkers does so with several workers. What was run ahead of the search when it was
// interrupted is run again, and counts once.
func TestResumeWorkers(t *testing.T) {
	dfs := func() *explore.Search { return maxExecutions(dfsSearch(), 5000) }
	for _, test := range []struct {
		name      string
		args      []string
		newSearch func() *explore.Search
	}{
		{"dpor", []string{"4", "2"}, dporSearch},
		{"dfs", []string{"3", "1"}, dfs},
		{"dfs, violated", []string{"3", "1", "210"}, dfs},
		{"dfs, violations", []string{"2", "2", "1100"}, dfsSearch},
		{"random", []string{"3", "2"}, func() *explore.Search { return randomSearch(4000, 5) }},
		{"random, violated", []string{"3", "3", "221100210"}, func() *explore.Search {
			return randomSearch(4000, 5)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := turnsOptions(t, test.args...)
			o.SelfCheck, o.Search, o.haste = 50, test.newSearch(), true
			if test.name == "dfs, violations" {
				o.Violations = 5
			}
			want := check(t, o)
			o.Workers = 3
			got := inSessions(t, o, test.newSearch, cases(8, 4), want.Counts.Elapsed/4)
			if diff := cmp.Diff(conclusionOf(t, want), conclusionOf(t, got)); diff != "" {
				t.Errorf("(-with one worker, uninterrupted +with three, resumed)\n%s", diff)
			}
			t.Logf("%v, %d executions, %v, %d run ahead", got.Verdict.Kind, got.Verdict.Executions,
				want.Counts.Elapsed, got.Counts.Ahead)
		})
	}
}

// TestRaisedBound goes on with a check that a bound has ended.
func TestRaisedBound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := turnsOptions(t, "3", "2")
	o.Search, o.Saving = maxExecutions(dporSearch(), 10), savingIn(t, dir, false)
	first := session(t, o, 0)
	if first.Saved != dir || first.Verdict.Executions != 10 {
		t.Fatalf("saved in %q, %+v", first.Saved, first.Verdict)
	}
	o.Search, o.Saving = maxExecutions(dporSearch(), 1000), savingIn(t, dir, true)
	second := session(t, o, 0)
	o.Search, o.Saving = dporSearch(), nil
	if want := check(t, o); second.Verdict != want.Verdict || second.Saved != "" ||
		second.Counts.Elapsed <= first.Counts.Elapsed {
		t.Errorf("saved in %q, %v after %v, %+v; want %+v", second.Saved, second.Counts.Elapsed,
			first.Counts.Elapsed, second.Verdict, want.Verdict)
	}
}

// TestResumeOther: neither another program nor another search goes on with a run, and what was
// saved stays.
func TestResumeOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := turnsOptions(t, "3", "2")
	o.Search, o.Saving = maxExecutions(dporSearch(), 10), savingIn(t, dir, false)
	session(t, o, 0)
	other := alphabet.options(t)
	other.Group = nil
	dfs := o
	dfs.Search = dfsSearch()
	arguments := o
	arguments.Args, arguments.Search = []string{"1", "1"}, dporSearch()
	for _, test := range []struct {
		options Options
		says    string
	}{
		{other, "the run cannot go on: the program alphabet has changed since the run began: check it"},
		{dfs, `it is that of a search "dpor", and this one is "dfs"`},
		{arguments, "the schedule could not be followed"},
	} {
		test.options.Saving = savingIn(t, dir, true)
		_, err := Run(context.Background(), test.options)
		test.options.Saving.Run.Close()
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v; want %s", err, test.says)
		}
	}
	o.Search, o.Saving = dporSearch(), savingIn(t, dir, true)
	if result := session(t, o, 0); result.Verdict.Executions != 90 {
		t.Errorf("%+v", result.Verdict)
	}
}

// TestCannotSave: a check that cannot be saved goes on, and says so once.
func TestCannotSave(t *testing.T) {
	o := turnsOptions(t, "4", "2")
	o.Search, o.Saving = dporSearch(), savingIn(t, filepath.Join("/proc", "run"), false)
	var said []string
	o.Saving.Failed = func(err error) { said = append(said, err.Error()) }
	result := session(t, o, 0)
	if result.Verdict.Kind != explore.Holds || len(said) != 1 ||
		!strings.HasPrefix(said[0], "saving the check in /proc/run: ") {
		t.Errorf("%+v, %q", result.Verdict, said)
	}
}

// TestNothingToResume: of a check that ended before its first execution nothing is kept, and no
// command is offered that would go on with it.
func TestNothingToResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := turnsOptions(t, "3", "2")
	o.Search, o.Saving = dporSearch(), savingIn(t, dir, false)
	defer o.Saving.Run.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := Run(ctx, o)
	if err != nil || result.Verdict.Kind != explore.Unknown || result.Verdict.Executions != 0 ||
		result.Saved != "" {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the run: %v", err)
	}
}

// TestResumedPeersDiffer: peers that were started anew and answer differently are an error that
// says what has happened.
func TestResumedPeersDiffer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := scpToFixed.options(t)
	o.Search, o.Saving = maxExecutions(dporSearch(), 3), savingIn(t, dir, false)
	session(t, o, 0)
	o.Search, o.Saving = dporSearch(), savingIn(t, dir, true)
	result, err := Run(context.Background(), o)
	o.Saving.Run.Close()
	var differs *iocache.Inconsistency
	const resumed = "the cache has answers of an earlier process of the checker (the search was resumed)"
	if !errors.As(err, &differs) || !strings.HasPrefix(err.Error(), resumed) ||
		!strings.Contains(err.Error(), "read the time or random numbers: dropbear: getrandom") ||
		result == nil || result.Saved != dir {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestResumedChosenPeers: a Dropbear whose random numbers and time are chosen answers as before
// when it is started anew, so that the check goes on.
func TestResumedChosenPeers(t *testing.T) {
	o := scpToFixed.options(t)
	o.Group.Peers[0].Choices = 2
	newSearch := func(n int) *explore.Search { return maxExecutions(dporSearch(), n) }
	o.Search = newSearch(12)
	want := check(t, o)
	dir := filepath.Join(t.TempDir(), "run")
	o.Search, o.Saving = newSearch(5), savingIn(t, dir, false)
	session(t, o, 0)
	o.Search, o.Saving = newSearch(12), savingIn(t, dir, true)
	got := session(t, o, 0)
	if diff := cmp.Diff(conclusionOf(t, want), conclusionOf(t, got)); diff != "" ||
		got.Counts.Replayed <= want.Counts.Replayed {
		t.Errorf("%d inputs replayed, without the interruption %d (-uninterrupted +resumed)\n%s",
			got.Counts.Replayed, want.Counts.Replayed, diff)
	}
}

// TestUnsaved: so many answers that they are not kept until the next save end the saving, not the
// check.
func TestUnsaved(t *testing.T) {
	var said []string
	connected := iocache.Entry{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:80"}}
	run, err := saved.New(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	s := &saver{Saving: Saving{Run: run, Failed: func(err error) { said = append(said, err.Error()) }}}
	// With room: nothing of it has to be copied, or to be there at all
	s.answers = make([]byte, maxUnsaved, maxUnsaved+1<<10)
	s.record(connected)
	s.record(connected)
	if len(said) != 1 || s.answers != nil || !s.lost {
		t.Errorf("%q, %d bytes kept", said, len(s.answers))
	}

	// What was known before does not count.
	s = &saver{Saving: s.Saving, answers: make([]byte, maxUnsaved, maxUnsaved+1<<10), kept: maxUnsaved}
	s.record(connected)
	if len(said) != 1 || s.lost {
		t.Errorf("with answers that were kept: %q", said)
	}
}
