package sut_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// TestDetails: details say what a log does not, and the log is the same without them, with either
// isolation.
func TestDetails(t *testing.T) {
	p, err := build(t.TempDir(), "./testdata/details", sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w, err := sut.Start(p, sut.Options{Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		without := copyLog(run(t, w, sut.Schedule{}, nil))
		if without.Details != nil {
			t.Error("details that nobody wanted")
		}
		for range 2 {
			log := run(t, w, sut.Schedule{Show: &sut.Show{}}, nil)
			if diff := cmp.Diff(without.Events, log.Events); diff != "" || log.Outcome != sut.Deadlock {
				t.Errorf("%v, the events differ with details:\n%s", log.Outcome, diff)
			}
			if diff := cmp.Diff(detailsOfProgram, tell(p, log)); diff != "" {
				t.Errorf("isolation %v (-want +got):\n%s", isolation, diff)
			}
		}
	}
}

// detailsOfProgram are those of testdata/details, as tell has them.
var detailsOfProgram = []string{
	"made at main.go:12", "made at main.go:14", "made at main.go:18", "made at main.go:25",
	"made at main.go:26",
	"select takes arm 0",
	"prints 5 to 1", "prints 7 to 2", "prints 2 to 1",
	"main.main.func1: main.message 0/0, sends, arm 0", "main.main.func1: struct {} 0/0, receives, arm 1",
	"main.send: error 1/1, sends, arm 0",
	"arrives at main.go:13", "arrives at main.go:19", "arrives at main.go:27", "arrives at main.go:28",
	"arrives at main.go:36 in main.go:16",
	"stack main.main at main.go:33", "stack main.main.func1 at main.go:19", "stack main.send at main.go:36",
}

// tell tells details in lines.
func tell(p *sut.Program, log *sut.Log) (lines []string) {
	d := log.Details
	place := func(pc uint64) string {
		at, _ := p.Position(pc)
		return fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
	}
	for _, call := range d.Made {
		lines = append(lines, "made at "+place(call.Open))
	}
	slices.Sort(lines)
	for _, arm := range d.Arms {
		at := arm.At - 1
		for log.Events[at].Kind != sut.Stepped {
			at--
		}
		if e := log.Events[at]; e.Operation == sut.Select && e.Subject == arm.Goroutine {
			lines = append(lines, fmt.Sprintf("select takes arm %d", arm.Number))
		}
	}
	for _, printed := range d.Printed {
		lines = append(lines, fmt.Sprintf("prints %d to %d", printed.Bytes, printed.Descriptor))
	}
	names := map[uint64]string{}
	var stacks, waits []string
	for goroutine, stack := range d.Stacks {
		for _, pc := range stack {
			if at, ok := p.Position(pc); ok && strings.HasPrefix(at.Function, "main.") {
				names[goroutine] = at.Function
				stacks = append(stacks, fmt.Sprintf("stack %s at %s", at.Function, place(pc)))
				break
			}
		}
	}
	for goroutine, list := range d.Waits {
		for _, w := range list {
			c, does := d.Channels[w.Object], "receives"
			if w.Sends {
				does = "sends"
			}
			waits = append(waits, fmt.Sprintf("%s: %s %d/%d, %s, arm %d", names[goroutine], c.Type, c.Size,
				c.Cap, does, w.Number))
		}
	}
	// The arrivals in main and its goroutines, with the calls of the program that are around each.
	for _, a := range d.Arrivals {
		var calls []string
		for _, pc := range a.Stack {
			if at, ok := p.Position(pc); ok && strings.HasPrefix(at.Function, "main.") {
				calls = append(calls, place(pc))
			}
		}
		stacks = append(stacks, "arrives at "+strings.Join(calls, " in "))
	}
	slices.Sort(stacks)
	slices.Sort(waits)
	return slices.Concat(lines, waits, stacks)
}
