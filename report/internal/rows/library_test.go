package rows

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
)

// inLibrary is a step of a goroutine in a library, called at a place of the user's code, or from
// the library itself.
func inLibrary(goroutine int, place string) report.Step {
	s := report.Step{Goroutine: goroutine, Operation: "Lock", Object: "mutex 1", Library: "x.org/ssh",
		Source: place, Function: "main.run", Kind: report.Synchronisation}
	if place == "" {
		s.Source, s.Function = "/mod/ssh/mux.go:7", "x.org/ssh.(*mux).loop"
	}
	return s
}

// told are rows in words.
func told(list []Row) (lines []string) {
	for _, r := range list {
		text := r.What()
		if r.Summary != "" {
			text = r.Summary
		}
		lines = append(lines, fmt.Sprintf("%d-%d %s %s", r.First+1, r.Last+1, text, r.Source))
	}
	return lines
}

// TestFoldLibraries: steps of libraries are folded up to where the user's code calls elsewhere, and
// to the steps that a failure is about.
func TestFoldLibraries(t *testing.T) {
	own := report.Step{Goroutine: 1, Operation: "Unlock", Object: "mutex 2", Source: "main.go:9"}
	key := inLibrary(2, "")
	key.Key = true
	preempts := inLibrary(2, "")
	preempts.Preempts, preempts.Library, preempts.Function = true, "x.org/other", "x.org/other.f"
	steps := []report.Step{
		own, inLibrary(1, "main.go:1"), preempts, inLibrary(1, "main.go:1"), inLibrary(1, "main.go:2"), own,
		key, inLibrary(3, ""),
	}
	steps[2].IO = []report.Message{{ToPeer: true, Data: []byte("a")}}
	list := FoldLibraries(Of(steps), []report.Goroutine{{ID: 1, Name: "main"}, {ID: 2, Name: "main/1"}})
	want := []string{
		"1-1 Unlock main.go:9",
		"2-4 3 steps in x.org/ssh and x.org/other, by main and main/1, where main/1 preempts main.go:1",
		"5-5 1 step in x.org/ssh, by main main.go:2",
		"6-6 Unlock main.go:9",
		"7-7 Lock /mod/ssh/mux.go:7",
		"8-8 1 step in x.org/ssh, by goroutine 3 ",
	}
	if diff := cmp.Diff(want, told(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(list[1].Messages) != 1 {
		t.Errorf("messages %q", list[1].Messages)
	}
	for i := range steps {
		steps[i].Key, steps[i].IO = false, nil
		for range 9 {
			steps[i].IO = append(steps[i].IO, report.Message{ToPeer: true, Data: []byte{'0' + byte(i)}})
		}
	}
	messages := FoldLibraries(Of(steps[1:4]), nil)[0].Messages
	if len(messages) != maxFoldedMessages || messages[2] != "... 22 more messages" ||
		messages[5] != `-> connection 0: "3", 1 byte` {
		t.Errorf("of many messages: %q", messages)
	}
}

// TestFoldLoops: of a loop the first and the last round stay.
func TestFoldLoops(t *testing.T) {
	step := func(goroutine int, operation string) report.Step {
		return report.Step{Goroutine: goroutine, Operation: operation, Kind: report.Socket}
	}
	steps := []report.Step{step(1, "begin")}
	for i := range 6 {
		steps = append(steps, step(1, "ask"), step(report.Clock, fmt.Sprint("the clock is at ", i)))
	}
	steps = append(steps, step(1, "end"), step(1, "x"), step(1, "x"), step(1, "x"))
	want := []string{"1-1 begin ", "2-2 ask ", "3-3 the clock is at 0 ",
		"4-11 ... 4 more rounds of the 2 rows above ", "12-12 ask ", "13-13 the clock is at 5 ", "14-14 end ",
		"15-15 x ", "16-16 x ", "17-17 x "}
	if diff := cmp.Diff(want, told(FoldLoops(Of(steps)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	steps[4].Key = true // what the failure is about is seen
	if list := FoldLoops(Of(steps)); told(list)[3] != "4-4 ask " {
		t.Errorf("folded over a step that matters: %q", told(list))
	}
}

// TestFoldsLoseNothing: whatever is folded, rows have all steps, each once and in their order.
func TestFoldsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []report.Step
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			s := inLibrary(rapid.IntRange(1, 2).Draw(t, "goroutine"),
				rapid.SampledFrom([]string{"", "a.go:1", "b.go:2"}).Draw(t, "place"))
			s.Library = rapid.SampledFrom([]string{"", "x.org/ssh"}).Draw(t, "library")
			s.Key = rapid.IntRange(0, 5).Draw(t, "key") == 0
			steps = append(steps, s)
		}
		next := 0
		for _, r := range Fold(FoldLoops(FoldLibraries(Of(steps), nil))) {
			if r.First != next || r.Last < r.First {
				t.Fatalf("steps %d to %d follow step %d", r.First, r.Last, next-1)
			}
			next = r.Last + 1
		}
		if next != len(steps) {
			t.Fatalf("%d of %d steps", next, len(steps))
		}
	})
}
