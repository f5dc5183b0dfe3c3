// Package sarif writes violations in the format SARIF 2.1.0 of OASIS, which code scanning reads.
package sarif

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Bounds of a document. Code scanning of GitHub takes at most 10 MB, 5,000 results, and shows 1,000
// steps of a result.
const (
	maxResults = 1000
	maxSteps   = 1000
	maxGlance  = 4000 // characters of a message
	maxWords   = 300  // characters of a step
	maxPlaces  = 20
	maxFrames  = 100
	maxBytes   = 9 << 20
)

// root is the base of all paths: what reads the file knows where the source is.
const root = "%SRCROOT%"

// fingerprintKey is the name of the fingerprint. A fingerprint that is made of something else gets
// another one.
const fingerprintKey = "tandemViolation/v1"

// source is where the tool is described.
const source = "https://github.com/tandem-mc/tandem"

// Write writes violations, as one run of the tool. The paths are those that RelativeTo has left. A
// check without violations is a document without results, so that alerts that are there are
// closed. The error is the writer's, and nothing is written before the document is complete.
// Schedules are left out where the document would be too large to be read.
func Write(w io.Writer, violations []report.Violation) error {
	// Schedules are what makes a document large. Fewer steps of each are tried, down to none.
	steps := maxSteps
	for {
		var document bytes.Buffer
		if err := documentOf(violations, steps).Write(&document); err != nil {
			return fmt.Errorf("writing SARIF: %w", err)
		}
		if document.Len() <= maxBytes || steps == 0 {
			document.WriteByte('\n')
			_, err := w.Write(document.Bytes())
			return err
		}
		steps /= 4
	}
}

// documentOf is the document, with at most so many steps of each schedule.
func documentOf(violations []report.Violation, steps int) *sarif.Report {
	// Columns are not given, but the kind of them has to be.
	run := sarif.NewRunWithInformationURI("tandem", source)
	run.WithColumnKind("unicodeCodePoints")
	// The value is for the reader to give; the description is for people.
	base := sarif.NewArtifactLocation()
	base.WithDescription(sarif.NewTextMessage("The root of the source tree that was checked."))
	run.OriginalUriBaseIds = map[string]sarif.ArtifactLocation{root: *base}
	for _, rule := range report.Rules() {
		run.AddRule(rule.ID).
			WithName(rule.Name).
			WithShortDescription(multiformat(rule.Title)).
			WithFullDescription(multiformat(rule.Text)).
			WithHelp(multiformat(rule.Help)).
			WithHelpURI(source).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarif.LevelError))
	}
	// Results follow in the order in which the search has found them.
	for i, v := range violations {
		if i == maxResults {
			break
		}
		// A rule of a later release is added without texts.
		run.AddRule(report.RuleOf(v).ID)
		run.AddResult(result(run, v, steps))
	}
	document := sarif.NewReport()
	document.AddRun(run)
	return document
}

// multiformat is a text without formats.
func multiformat(text string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(text)
}

// result is a violation. The first place is where an alert is shown, the others are related to it.
func result(run *sarif.Run, v report.Violation, steps int) *sarif.Result {
	rule := report.RuleOf(v).ID
	r := sarif.NewRuleResult(rule).WithLevel(sarif.LevelError).
		WithMessage(sarif.NewTextMessage(messageOf(v)))
	r.RuleIndex = run.GetRuleIndex(rule)
	r.WithPartialFingerprints(map[string]string{fingerprintKey: report.Fingerprint(v)})
	if v.Executions > 0 {
		r.WithOccurrenceCount(v.Executions)
	}
	// Code scanning shows an alert at the first place only. The others are links in its text, which
	// need a number.
	for i, at := range v.Where() {
		place := sarif.NewLocationWithPhysicalLocation(physical(at))
		switch {
		case i == 0:
			r.AddLocation(place)
		case i <= maxPlaces:
			r.AddRelatedLocation(place.WithID(i).WithMessage(sarif.NewTextMessage("also here")))
		}
	}
	c := v.Counterexample
	if c == nil {
		return r
	}
	if c.Race != nil {
		addStack(r, c, "the later access: ", c.Race.Later)
		addStack(r, c, "the earlier access: ", c.Race.Earlier)
	}
	if flow := schedule(c, steps); flow != nil {
		r.AddCodeFlow(flow)
	}
	return r
}

// messageOf says what is wrong, where goroutines wait, and how to see it again. Its first sentence
// is what lists of alerts show.
func messageOf(v report.Violation) string {
	text := words.Printable(v.Outcome)
	if v.Message != "" {
		text += ": " + words.Fit(words.Printable(v.Message), maxWords)
	}
	text += ".\n"
	for i, place := range v.Places {
		if i == maxPlaces {
			text += fmt.Sprintf("and %s more\n", textutil.Count(len(v.Places)-maxPlaces))
			break
		}
		text += words.Fit(words.Printable(place), maxWords) + "\n"
	}
	if c := v.Counterexample; c != nil {
		text += c.Size().String() + ".\n"
	}
	if v.File != "" {
		text += "Run again: tandem replay " + words.Printable(textutil.QuoteArg(v.File)) + "\n"
	}
	return escape(words.Fit(strings.TrimSpace(text), maxGlance))
}

// argument is what stands for an argument of a message.
var argument = regexp.MustCompile(`\{([0-9]+)\}`)

// escape takes their meaning from characters of messages: of links, [text](target), and of
// arguments, {0}; see sections 3.11.5 and 3.11.6 of the specification. The rest stays as it is,
// since few readers undo what is escaped.
func escape(text string) string {
	return argument.ReplaceAllString(strings.ReplaceAll(text, "](", "] ("), "{{$1}}")
}

// physical is a place in a file of the tree.
func physical(at report.Place) *sarif.PhysicalLocation {
	path := url.URL{Path: at.File}
	return sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(path.String()).WithURIBaseID(root)).
		WithRegion(sarif.NewRegion().WithStartLine(at.Line))
}

// addStack adds the stack of an access of a data race. Calls in other modules have no place. What
// the runtime does for nobody has no stack.
func addStack(r *sarif.Result, c *report.Counterexample, when string, a report.MemoryAccess) {
	if len(a.Stack) == 0 {
		return
	}
	s := sarif.NewStack().WithMessage(message(when + a.Operation + " by " + a.Goroutine.Name))
	for _, f := range a.Stack[:min(len(a.Stack), maxFrames)] {
		s.AddFrame(sarif.NewStackFrame().WithLocation(
			location(c, f.Source, f.Function).WithMessage(message(words.Function(f.Function)))))
	}
	r.AddStack(s)
}

// location is a place by the words of a report: in a file, if that is of the tree, and in a
// function.
func location(c *report.Counterexample, text, function string) *sarif.Location {
	l := sarif.NewLocation()
	if at, ok := c.Place(text); ok {
		l.WithPhysicalLocation(physical(at))
	}
	if function != "" {
		l.AddLogicalLocation(sarif.NewLogicalLocation().WithKind("function").
			WithFullyQualifiedName(words.Fit(words.Function(function), maxWords)))
	}
	return l
}

// message is a text that is shown as it is, in one line.
func message(text string) *sarif.Message {
	return sarif.NewTextMessage(escape(words.Fit(words.OneLine(text), maxWords)))
}

// schedule is a code flow with a thread flow for each goroutine. The order across these is the
// execution order, which is the number of the step. Steps in other modules are left out, since code
// scanning refuses what has no place in the tree. Of a long schedule the last steps are there,
// since they lead to the failure. nil: nothing of it is there.
func schedule(c *report.Counterexample, most int) *sarif.CodeFlow {
	var shown []int
	for i := len(c.Steps) - 1; i >= 0 && len(shown) < most; i-- {
		if _, ok := c.Place(c.Steps[i].Source); ok {
			shown = append(shown, i)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	slices.Reverse(shown)
	// A goroutine is called by its place in the spawn tree, and by the function that it runs.
	names := map[int]string{report.Clock: "clock"}
	for _, g := range c.Goroutines {
		names[g.ID] = strings.TrimSpace(g.Name + " " + words.ShortFunction(g.Function))
	}
	title := "the schedule: " + c.Size().String()
	if left := len(c.Steps) - len(shown); left > 0 {
		title += fmt.Sprintf("; %s not shown", textutil.CountOf(left, "step"))
	}
	flow := sarif.NewCodeFlow().WithMessage(message(title))
	threads := map[int]*sarif.ThreadFlow{}
	for _, i := range shown {
		step := c.Steps[i]
		thread, ok := threads[step.Goroutine]
		if !ok {
			name := cmp.Or(names[step.Goroutine], fmt.Sprintf("goroutine %d", step.Goroutine))
			thread = sarif.NewThreadFlow().WithID(fmt.Sprint(step.Goroutine)).WithMessage(message(name))
			threads[step.Goroutine] = thread
			flow.AddThreadFlow(thread)
		}
		thread.AddLocation(flowLocation(c, i))
	}
	return flow
}

// flowLocation is a step with its number, which begins with 1.
func flowLocation(c *report.Counterexample, i int) *sarif.ThreadFlowLocation {
	step := c.Steps[i]
	text := strings.TrimSpace(step.Operation + " " + step.Object)
	// What is sent may be secret, and alerts are read by many. So only its length is told.
	for _, m := range step.IO {
		to := "from the peer"
		if m.ToPeer {
			to = "to the peer"
		}
		if len(m.Data) > 0 || m.Datagram {
			text += fmt.Sprintf("; %s %s", textutil.CountOf(len(m.Data), "byte"), to)
		}
		if m.Event != "" {
			text += "; " + m.Event
		}
		if len(text) > 4*maxWords {
			break
		}
	}
	l := sarif.NewThreadFlowLocation().WithExecutionOrder(i + 1).
		WithLocation(location(c, step.Source, step.Function).WithMessage(message(text)))
	// Where another goroutine takes over is what a reader is looking for.
	if step.Preempts || i == len(c.Steps)-1 {
		l.WithImportance("essential")
	}
	return l
}
