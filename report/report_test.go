package report_test

import (
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
)

func TestShrinkingInWords(t *testing.T) {
	for want, s := range map[string]report.Shrinking{
		"shrunk from 7 preemptions in 312 transitions, in 1,240 executions": {1240,
			report.Size{Preemptions: 7, Transitions: 312}, report.Size{Preemptions: 1, Transitions: 88}},
		"no simpler schedule was found in 1 execution": {1,
			report.Size{Preemptions: 1, Transitions: 88}, report.Size{Preemptions: 1, Transitions: 88}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFailureInWords: of an exit, what was printed belongs to the headline; else it comes last.
func TestFailureInWords(t *testing.T) {
	for _, c := range []struct {
		failure         report.Failure
		headline, whole string
	}{
		{report.Failure{}, "", ""},
		{report.Failure{Kind: model.Exited, Message: "exit status 2", Status: 2, Printed: "\n  why\nmore"},
			"exit status 2: why", "exit status 2\n\n  why\nmore"},
		{report.Failure{Kind: model.Exited, Message: "exit status 1", Status: 1, Printed: "passed\n  why",
			Said: "  why"}, "exit status 1: why", "exit status 1\npassed\n  why"},
		{report.Failure{Kind: model.Exited, Message: "exit status 2", Status: 2},
			"exit status 2", "exit status 2"},
		{report.Failure{Kind: model.Exited, Message: "ended by signal killed", Printed: "why"},
			"ended by signal killed", "ended by signal killed\nwhy"},
		{report.Failure{Kind: model.Panicked, Message: "panic: out\nmain.go:3", Printed: "exit status 2"},
			"panic: out", "panic: out\nmain.go:3\n\nprinted before:\nexit status 2"},
		{report.Failure{Kind: model.AssertionFailed, Message: "exit status 2\nso it says"},
			"exit status 2", "exit status 2\nso it says"},
	} {
		if got := c.failure.Headline(); got != c.headline {
			t.Errorf("%+v: headline %q, want %q", c.failure, got, c.headline)
		}
		if got := c.failure.String(); got != c.whole {
			t.Errorf("%+v: %q, want %q", c.failure, got, c.whole)
		}
	}
}
