package narrate

import (
	"fmt"
	"path/filepath"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Chosen is the schedule that an execution has followed, with what each choice stood for.
func Chosen(p *sut.Program, events []sut.Event) (list []report.Chosen) {
	// Only the program is asked of it: where an event happened needs no story.
	n := &narrator{program: p}
	for i := range events {
		if e := &events[i]; e.Kind == sut.Stepped {
			list = append(list, chosenBy(n, e))
		}
	}
	return list
}

// chosenBy describes a step. A file is named with its directory, as in reports.
func chosenBy(n *narrator, e *sut.Event) report.Chosen {
	c := report.Chosen{Goroutine: e.Subject, Choice: e.Alternative(), Operation: e.Operation.String()}
	if at, ok := n.own(e); ok {
		dir, file := filepath.Split(at.File)
		c.Function, c.File, c.Line = at.Function, filepath.Join(filepath.Base(dir), file), at.Line
	}
	return c
}

// Parted says where an execution has left the way that was recorded; nil if it has not. The steps
// are compared by their goroutines, alternatives, operations and functions. Lines are not compared,
// since comments move them. The execution may have been cut off by an input to the peers that was
// not recorded.
func Parted(p *sut.Program, rec *report.Recording, log *sut.Log, cut error) *report.Parting {
	if log == nil {
		return nil
	}
	n := newNarrator(p, log, nil)
	n.narrate()
	recordedEnd := "the program ended: " + rec.Expect.Outcome
	// Times that pass are steps of reports, and no choices.
	number, taken := 0, 0 // of steps as reports count them, and of choices
	for i := range log.Events {
		e := &log.Events[i]
		if isShown(e) {
			number++
		}
		if e.Kind != sut.Stepped {
			continue
		}
		now := chosenBy(n, e)
		if taken == len(rec.Schedule) {
			return &report.Parting{Step: number, Recorded: recordedEnd, Now: describeChoice(n, now)}
		}
		if recorded := rec.Schedule[taken]; !recorded.Same(now) {
			return &report.Parting{Step: number, Recorded: describeChoice(n, recorded),
				Now: describeChoice(n, now)}
		}
		taken++
	}
	ended := "the program ended: " + log.Outcome.String()
	if taken < len(rec.Schedule) {
		recorded := rec.Schedule[taken]
		return &report.Parting{Step: number + 1, Recorded: describeChoice(n, recorded),
			Now: insteadOf(n, recorded, cut)}
	}
	if cut != nil || log.Outcome.String() != rec.Expect.Outcome {
		if cut != nil {
			ended = cut.Error()
		}
		return &report.Parting{Step: number + 1, Recorded: recordedEnd, Now: ended}
	}
	return nil
}

// isShown is what narrate leaves out of the steps, turned around: numbers of steps are to be those
// of reports. It reports whether an event begins a step of the schedule that reports show.
func isShown(e *sut.Event) bool {
	switch e.Kind {
	case sut.Stepped:
		waits := e.Subject == sut.PeerTimeSource && e.Operation != sut.TimePasses
		return e.Operation != sut.Advance && !waits
	case sut.Ticked:
		return !e.AsksPeers() && e.Tick() != sut.TickWithin
	}
	return false
}

// insteadOf says what an execution does in place of a step that was recorded, or what keeps it from
// that step. The latest event of the goroutine tells that. It comes last in the log, hence the
// order.
func insteadOf(n *narrator, recorded report.Chosen, cut error) string {
	if cut != nil {
		return cut.Error()
	}
	if n.log.Outcome != sut.Diverged {
		return "the program ended: " + n.log.Outcome.String()
	}
	index, known := n.names[recorded.Goroutine]
	if !known {
		return "there is no such goroutine"
	}
	name := n.result.Goroutines[index].Name
	for i := len(n.log.Events) - 1; i >= 0; i-- {
		e := &n.log.Events[i]
		if e.Subject != recorded.Goroutine || e.Kind != sut.Pending && e.Kind != sut.Ended {
			continue
		}
		if e.Kind == sut.Ended {
			return name + " has ended"
		}
		return fmt.Sprintf("%s cannot do that: its next is %s", name, describeChoice(n, chosenBy(n, e)))
	}
	return name + " is blocked"
}

// describeChoice is a step in words.
func describeChoice(n *narrator, c report.Chosen) string {
	name := "another goroutine"
	if index, known := n.names[c.Goroutine]; known {
		name = n.result.Goroutines[index].Name
	}
	text := name + ": " + c.Operation
	if c.Operation == "" { // a recording of before
		text = name + " goes on"
	}
	if c.Choice > 0 {
		text += fmt.Sprintf(", alternative %d", c.Choice+1)
	}
	if c.File != "" {
		text += fmt.Sprintf(" at %s:%d, in %s", c.File, c.Line,
			textutil.FunctionName(c.Function))
	}
	return text
}

// StepFrom is the first step of a goroutine among those from a number on, as reports count them:
// its event, and what it is in words. ok is false if there is none.
func StepFrom(p *sut.Program, log *sut.Log, from int) (event int, words string, ok bool) {
	n := newNarrator(p, log, nil)
	n.narrate()
	number := 0
	for i := range log.Events {
		e := &log.Events[i]
		if isShown(e) {
			number++
		}
		if number >= from && e.Kind == sut.Stepped && isShown(e) {
			return i, fmt.Sprintf("step %d: %s", number, describeChoice(n, chosenBy(n, e))), true
		}
	}
	return 0, "", false
}
