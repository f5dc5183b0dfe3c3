package report_test

import (
	"testing"

	"github.com/tandem-mc/tandem/report"
)

func TestShrinkingInWords(t *testing.T) {
	for want, s := range map[string]report.Shrinking{
		"shrunk from 7 preemptions in 312 transitions, in 1,240 executions": {1240,
			report.Size{Preemptions: 7, Transitions: 312}, report.Size{Preemptions: 1, Transitions: 88}},
		"no simpler one was found in 1 execution": {1,
			report.Size{Preemptions: 1, Transitions: 88}, report.Size{Preemptions: 1, Transitions: 88}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
