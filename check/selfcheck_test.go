package check

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestSelfCheck: what is deterministic passes, with peers that are not asked again.
func TestSelfCheck(t *testing.T) {
	want := check(t, httpGet.options(t))
	for every, checked := range map[int]int{1: 20, 7: 4, 1000: 1} {
		o := httpGet.options(t)
		o.SelfCheck = every
		got := check(t, o)
		if got.Verdict != want.Verdict || got.Counts.SelfChecked != checked {
			t.Errorf("one of %d: %+v with %d self-checks, want %+v with %d", every, got.Verdict,
				got.Counts.SelfChecked, want.Verdict, checked)
		}
		if got.Counts.Hits != want.Counts.Hits || got.Counts.Misses != want.Counts.Misses {
			t.Errorf("one of %d: %d and %d inputs, want %d and %d: the peers were asked again",
				every, got.Counts.Hits, got.Counts.Misses, want.Counts.Hits, want.Counts.Misses)
		}
	}
}

func TestSelfCheckOfForks(t *testing.T) {
	o := endings(t, "abandoned")
	o.SelfCheck, o.Isolation = 1, sut.Fork
	if result := check(t, o); result.Counts.SelfChecked != result.Verdict.Executions {
		t.Errorf("%d of %d executions were checked", result.Counts.SelfChecked, result.Verdict.Executions)
	}
}

// nondeterministic is a program that no checker can control.
func nondeterministic(t *testing.T, scenario string) Options {
	t.Helper()
	p := built["nondeterministic"]
	if p == nil {
		var err error
		if p, err = buildProgram("testdata/nondeterministic",
			filepath.Join(tree, "nondeterministic")); err != nil {
			t.Fatal(err)
		}
		built["nondeterministic"] = p
	}
	return Options{Program: p, Package: "nondeterministic", Args: []string{scenario},
		Search: randomSearch(3, 1), SelfCheck: 1}
}

// TestSelfCheckNotices: whatever differs is named with its place, from both sides. Two small
// numbers of the time stamp counter are the same now and then: then it is the execution in a
// process of its own that differs.
func TestSelfCheckNotices(t *testing.T) {
	for scenario, says := range map[string][]string{
		"events": {", differs: event ", "atomic", "nondeterministic/main.go:", "\n\tfirst: main",
			"\n\tagain: main"},
		"output":    {"in the same process, differs: its output at byte ", "\n\tfirst: \""},
		"exit code": {", differs: its end\n\tfirst: exit, exit code "},
		"thread":    {"in a process of its own, differs: its output at byte "},
	} {
		_, err := Run(context.Background(), nondeterministic(t, scenario))
		if err == nil {
			t.Errorf("%s: no error", scenario)
			continue
		}
		for _, want := range append(says, "the program is not deterministic") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not say %q: %v", scenario, want, err)
			}
		}
	}
}

// TestSelfCheckIsOff shows that it is the self-check that notices.
func TestSelfCheckIsOff(t *testing.T) {
	o := nondeterministic(t, "output")
	o.SelfCheck = 0
	if result := check(t, o); result.Counts.SelfChecked != 0 {
		t.Errorf("%d self-checks", result.Counts.SelfChecked)
	}
}

// TestSelfCheckComparesInputs gives the second execution other recorded inputs.
func TestSelfCheckComparesInputs(t *testing.T) {
	connect := driver.Exchange{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:7777"}}
	send := driver.Exchange{Input: model.Input{Kind: model.Send, Data: []byte("input")}}
	other := driver.Exchange{Input: model.Input{Kind: model.Send, Data: []byte("output")}}
	for says, answers := range map[string][]driver.Exchange{
		"":                                {connect, send},
		"again: input 2 to the peers":     {connect, other},
		"again: the program made more":    {connect},
		"again: input 1 to the peers dif": {send, connect},
	} {
		r, err := newRun(context.Background(), nondeterministic(t, "input"), interest{})
		if err != nil {
			t.Fatal(err)
		}
		log, err := r.executor.Worker().Run(sut.Schedule{},
			driver.NewRecorded([]driver.Exchange{connect, send}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.executor.SelfCheck(sut.Schedule{}, log,
			func() sut.Peers { return driver.NewRecorded(answers) })
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
		r.executor.Close()
	}
}
