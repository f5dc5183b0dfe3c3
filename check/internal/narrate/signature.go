package narrate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/gotest"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Signature tells violations apart. Two executions show the same violation if they end in the same
// way, with the same message, and at the same places of the source. Numbers in messages are not
// compared: a failed assertion about 7 is the same with 3. What the places are depends on the
// outcome:
//
//	data race          the two accesses, in either order, and what they are
//	panic, fatal error the innermost call of the panicking goroutine in the program's own code
//	assertion failed   the innermost call in the program's own code
//	deadlock           where all goroutines are that are left, and at which operations
//	livelock           the operations of the loops in which goroutines go round
//	goroutine leak     where those are that are left
//	exit               where tests say that they failed; else none, and the message is the output
type Signature struct {
	outcome sut.Outcome
	message string
	places  []string // sorted, none twice; in words
	at      []place  // the same, not sorted
	// functions are those of the places, each after what it does there; sorted, none twice. They
	// stay when lines move.
	functions []string
	said      string // by the test that fails, in a line
	Key       string // the same for executions that show the same violation
}

// Same reports whether two executions show the same violation. Same is exact for the keys; the
// numbers in messages were replaced in them.
func (s Signature) Same(other Signature) bool { return s.Key == other.Key }

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// SignatureOf describes a violation. The log of a data race must be one for which the earlier
// access was watched.
func SignatureOf(p *sut.Program, log *sut.Log) Signature {
	s := Signature{outcome: log.Outcome}
	var places []place
	switch log.Outcome {
	case sut.DataRace:
		places = racePlaces(p, log.Race)
	case sut.Panicked, sut.Fatal:
		s.message, places = tracebackOf(p, string(log.Stderr))
	case sut.AssertionFailed:
		s.message, places = log.Message, innermost(p, log.Stack)
	case sut.Deadlock, sut.Leaked:
		places = standstill(p, log)
	case sut.Livelock:
		if places = loopPlaces(p, log); loopsOnTimers(log) {
			places = standstill(p, log)
		}
	case sut.Exited:
		s.message, places = exitOf(p, log)
		if p.Tests {
			s.said = strings.TrimSpace(failingLine(p.Dir, gotest.Failures(log.Stdout)))
		}
	}
	s.message = strings.TrimSpace(s.message)
	keys := make([]string, len(places))
	for i, at := range places {
		s.places = append(s.places, at.what+shortSource(at.Position))
		s.functions = append(s.functions, at.what+fullName(p, at.Function))
		keys[i] = fmt.Sprint(at.what, at.File, at.Line)
	}
	if s.at = places; len(places) == 0 {
		s.functions = []string{p.ImportPath}
	}
	slices.Sort(s.places)
	slices.Sort(s.functions)
	slices.Sort(keys)
	s.places, s.functions = slices.Compact(s.places), slices.Compact(s.functions)
	message := numbers.ReplaceAllString(s.message, "N")
	s.Key = fmt.Sprintf("%s %d\n%s\n%s",
		s.outcome, log.ExitCode, message, strings.Join(slices.Compact(keys), "\n"))
	return s
}

// fullName is a function with the import path of its package. The linker calls each main package
// "main". A place without a function is known by the program alone.
func fullName(p *sut.Program, function string) string {
	if rest, ok := strings.CutPrefix(function, "main."); ok {
		return p.ImportPath + "." + rest
	}
	return cmp.Or(textutil.FunctionName(function), p.ImportPath)
}

// place is where something happens, after what it is. Two goroutines may be at the same place with
// different operations. These are two places.
type place struct {
	what string
	sut.Position
}

// placeAt finds the source of a program counter; one that is not known gives an empty position.
func placeAt(p *sut.Program, what string, pc uint64) place {
	at, _ := p.Position(pc)
	if what != "" {
		what += " at "
	}
	return place{what, at}
}

// racePlaces are where the two accesses of a race are in the program. What the runtime does by
// itself is nowhere. The order of the two plays no part, since places are sorted.
func racePlaces(p *sut.Program, r *sut.Race) []place {
	var list []place
	for _, a := range []sut.MemoryAccess{r.Earlier, r.Later} {
		what := memoryOperation(a)
		i := slices.IndexFunc(a.Stack, func(pc uint64) bool {
			at, ok := p.Position(pc)
			return ok && !partOfAccess(at.Function)
		})
		if i < 0 {
			list = append(list, place{what: what + " by the runtime"})
			continue
		}
		list = append(list, placeAt(p, what, a.Stack[i]))
	}
	return list
}

// innermost is the first call on a stack in the program's own code, or the first of all. The list
// has one element, or none for an empty stack.
func innermost(p *sut.Program, stack []uint64) []place {
	for _, pc := range stack {
		if at, ok := p.Position(pc); ok && p.IsOwn(at) {
			return []place{{"", at}}
		}
	}
	if len(stack) == 0 {
		return nil
	}
	return []place{placeAt(p, "", stack[0])}
}

// crashOutput splits standard error into what the program has written, and what the runtime prints
// when it ends it: that is last, and begins a line, unless the program has left one unfinished. (It
// indents the lines of a message.)
func crashOutput(text string) (before, last string) {
	text = "\n" + text
	begin := max(strings.LastIndex(text, "\npanic: "), strings.LastIndex(text, "\nfatal error: "))
	if begin < 0 {
		begin = max(strings.LastIndex(text, "panic: "), strings.LastIndex(text, "fatal error: "), 1) - 1
	}
	return text[1:max(begin, 1)], text[begin+1:]
}

// tracebackOf takes apart what the runtime prints when it ends a program: the message, and the
// first call in the program's own code on the stack of the first goroutine. The frames are pairs of
// lines: the call, and the file with its line. places is empty if no call is in the program's own
// code.
func tracebackOf(p *sut.Program, text string) (message string, places []place) {
	message, calls := callsOf(text)
	for _, at := range calls {
		if p.IsOwn(at) {
			return message, []place{{"", at}}
		}
	}
	return message, nil
}

// callsOf takes apart what the runtime prints when it ends a program: the message, and the calls of
// the first goroutine, innermost first.
func callsOf(text string) (message string, calls []sut.Position) {
	_, text = crashOutput(text)
	message, stack, _ := strings.Cut(text, "\n\ngoroutine ")
	message, _, _ = strings.Cut(message, "\n[signal ")
	_, stack, _ = strings.Cut(stack, "\n")
	stack, _, _ = strings.Cut(stack, "\n\n")
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		at := sut.Position{Function: lines[i]}
		if open := strings.LastIndex(lines[i], "("); open > 0 {
			at.Function = lines[i][:open]
		}
		file, rest, ok := cutLast(strings.TrimSpace(lines[i+1]), ":")
		if _, err := fmt.Sscan(rest, &at.Line); !ok || err != nil {
			continue
		}
		at.File = file
		calls = append(calls, at)
	}
	return message, calls
}

// cutLast is strings.Cut at the last separator: there may be others in the name of a file.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// standstill is where the goroutines are that are left at the end. In a deadlock these are all that
// have not ended. In a leak they are those that the runtime has found. The order is not defined.
func standstill(p *sut.Program, log *sut.Log) []place {
	last := map[uint64]place{}
	left := map[uint64]place{}
	acting := uint64(0)
	for i := range log.Events {
		e := &log.Events[i]
		switch e.Kind {
		// The last operation of each goroutine is where it waits, unless the log says otherwise.
		case sut.Stepped:
			acting = e.Subject
			last[acting] = placeAt(p, e.Operation.On(), e.PC)
		case sut.Accessed:
			if _, alive := last[acting]; alive && !e.Operation.HasArms() { // else it may be a partner's
				last[acting] = placeAt(p, e.Operation.On(), e.PC)
			}
		case sut.Partnered:
			last[e.Subject] = placeAt(p, e.Operation.On(), e.PC)
		case sut.Ended:
			delete(last, e.Subject)
		case sut.Pending:
			if translate.IsEnvironment(e) {
				delete(last, e.Subject)
			} else if last[e.Subject] = placeAt(p, e.Operation.On(), e.PC); e.CanGoOn() {
				delete(last, e.Subject) // it could go on
			}
		case sut.Left:
			at := placeAt(p, "blocked", e.PC)
			left[e.Subject] = at
			// Where that is another place it is in no operation, as in select {}.
			if was := last[e.Subject]; was.File != at.File || was.Line != at.Line {
				last[e.Subject] = at
			}
		}
	}
	if log.Outcome == sut.Deadlock {
		left = last
	}
	var list []place
	for _, at := range left {
		list = append(list, at)
	}
	return list
}

// located is a line that a test has printed, such as the one in which it says why it fails.
var located = regexp.MustCompile(`^ +([^ :\n]+\.go):([0-9]+): `)

// exitOf tells exits apart: those of tests by the lines in which tests fail, others by all that was
// printed to standard error.
func exitOf(p *sut.Program, log *sut.Log) (message string, places []place) {
	if !p.Tests {
		return log.Message + "\n" + string(log.Stderr), nil
	}
	for _, line := range gotest.Failures(log.Stdout) {
		if at, ok := locate(line); ok {
			places = append(places, place{"", at})
		}
	}
	return log.Message, places
}

// locate is where a line comes from that a test has printed: the name of the file, and the line. ok
// is false for a line that does not begin in this way.
func locate(line string) (at sut.Position, ok bool) {
	match := located.FindStringSubmatch(line)
	if match == nil {
		return at, false
	}
	at.File = match[1]
	_, err := fmt.Sscan(match[2], &at.Line)
	return at, err == nil
}

// Summary is the signature in the words of a report. Places stay in full, and the message is cut to
// one line.
func (s Signature) Summary() report.Violation {
	lines := strings.Split(s.message, "\n")
	message := lines[0]
	if s.outcome == sut.Exited {
		message = lines[len(lines)-1] // what it was about is printed last
	}
	for _, line := range lines {
		if nested, ok := strings.CutPrefix(line, "\tpanic: "); ok && s.outcome == sut.Panicked {
			message = nested // in the end the last one of several
		}
	}
	for _, prefix := range []string{"panic: ", "fatal error: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return report.Violation{
		Outcome: s.outcome.String(), Message: cmp.Or(s.said, message), Places: s.places,
		Functions: s.functions,
	}
}
