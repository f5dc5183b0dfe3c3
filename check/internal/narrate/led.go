package narrate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/quote"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// maxLed bounds the accesses that are named.
const maxLed = 6

// deferred is what the compiler adds to the name of a function for a deferred call.
var deferred = regexp.MustCompile(`\.deferwrap[0-9]+$`)

// ledTo finds the accesses that led to a failure: the last ones of the goroutine that fails to an
// object that another one has accessed in between, and these. Only accesses in the user's own code
// count. Most check-then-act bugs look like this: what the goroutine has seen first is no longer
// true. It is empty where the failure is about other things: a deadlock is about what goroutines
// wait for, and a data race has its two accesses.
func ledTo(c *report.Counterexample, told []toldStep, sources quote.Sources) []report.Access {
	switch c.Failure.Kind {
	case model.Panicked, model.AssertionFailed, model.Exited:
	default:
		return nil
	}
	all := accesses(c.Steps, told)
	failing := report.Clock
	for _, s := range c.Steps {
		if s.Goroutine != report.Clock {
			failing = s.Goroutine // the last one that acts
		}
	}
	// The last access counts first: what the goroutine has done just before it failed is the most
	// likely reason.
	for i := len(all) - 1; i >= 0; i-- {
		last := all[i]
		if last.goroutine != failing || last.isFirst {
			continue
		}
		var list []report.Access
		others := false
		// From the last access before, which another goroutine has followed, the list begins.
		for _, a := range all[:i] {
			if a.object != last.object {
				continue
			}
			if a.goroutine == failing {
				list, others = nil, false
			} else {
				others = true
			}
			list = append(list, a.Access)
		}
		if others && c.Steps[list[0].First].Goroutine == failing {
			// What is left out is in the middle: the first says what the goroutine has seen.
			if list = append(list, last.Access); len(list) > maxLed {
				list = slices.Delete(list, 1, len(list)-maxLed+1)
			}
			for i := range list {
				list[i].Lines = quoted(told, sources, list[i].First, list[i].Last)
			}
			return list
		}
	}
	return nil
}

// toldStep is what else is known of a step.
type toldStep struct {
	begins int          // the index of its first event
	at     sut.Position // in the program's own code, if that is known
	object uint64       // that it accesses first; 0: none
}

// objectAccess is what a goroutine did to an object, without others in between.
type objectAccess struct {
	report.Access
	object    uint64
	goroutine int
	isFirst   bool // of all accesses to the object
}

// accesses lists what goroutines did to objects in the user's own code, in the order of the ends of
// these accesses. From a lock to the unlock is one.
func accesses(steps []report.Step, told []toldStep) (list []objectAccess) {
	open := map[uint64]int{} // the last access to each object, by index in the list
	// The clock has no objects, and what libraries do is theirs.
	for i := range steps {
		s, object := &steps[i], told[i].object
		// Nothing is checked of a wait group that another goroutine could change.
		if object == 0 || s.Library != "" || s.Source == "" || s.Goroutine == report.Clock ||
			strings.HasPrefix(s.Object, "wait group") {
			continue
		}
		last, known := open[object]
		if known && list[last].goroutine == s.Goroutine {
			a := &list[last]
			// Another goroutine in between ends an access, though it leaves the object alone: the
			// schedule has two places then, and a reader is to find both.
			interrupted := slices.ContainsFunc(steps[a.Last+1:i], func(between report.Step) bool {
				return between.Goroutine != s.Goroutine
			})
			if known = !interrupted && told[i].at.File == told[a.First].at.File; known {
				a.Last = i
				continue
			}
		}
		open[object] = len(list)
		list = append(list, objectAccess{Access: report.Access{First: i, Last: i}, object: object,
			goroutine: s.Goroutine, isFirst: !known})
	}
	return list
}

// quoted has the lines of some steps of a goroutine. To a deferred unlock these are the rest of the
// function.
func quoted(told []toldStep, sources quote.Sources, first, last int) []report.SourceLine {
	from, to := told[first].at, told[last].at
	end := from.Line
	file := sources.File(from.File)
	switch {
	case deferred.MatchString(to.Function):
		end = file.EndOfFunction(from.Line)
	case to.File == from.File && to.Function == from.Function:
		end = to.Line
	}
	return file.Between(from.Line, max(from.Line, end))
}
