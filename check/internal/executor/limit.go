package executor

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// besideLimit has no number, since that rises with the search.
const besideLimit = "the limit for what is run beside the search (twice as many transitions as there " +
	"are in its longest execution, or 1,000 if that is more)"

// limit says which limit cut an execution off, and where it was then. The limit alone tells kinds
// of limits apart: the whole begins with it. An execution beside the search may have had a limit of
// its own (explore.Schedule.Most).
func (c *Config) limit(log *sut.Log, isBeside bool) (limit, whole string) {
	if log.Outcome == sut.StepLimit && isBeside {
		return besideLimit, besideLimit
	}
	switch log.Outcome {
	case sut.RoundLimit:
		limit = "a loop that waits"
	case sut.StepLimit:
		limit = fmt.Sprintf("the limit of %s (--depth)", textutil.CountOf(c.Depth, "transition"))
	case sut.LogLimit:
		limit = c.logLimit()
	case sut.Unjudged:
		limit = fmt.Sprintf("the bounds on what comes after main (%s, %d years, or --depth)",
			textutil.CountOf(sut.OvertimeTimers, "timer"), sut.OvertimeYears)
		return limit, limit + "; whether it is a leak was not judged: " +
			strings.Join(narrate.Unjudged(c.Program, log), ", ")
	default:
		limit = log.Message
		at, ok := narrate.Innermost(c.Program, log.Stack)
		if ok && c.Program.IsOwn(at) {
			return limit, fmt.Sprintf("%s, at %v, in %s", limit, at, at.Name())
		}
	}
	if at, ok := narrate.LastPlace(c.Program, log.Events); ok {
		return limit, fmt.Sprintf("%s, at %v, in %s", limit, at, at.Name())
	}
	return limit, limit
}

// logLimit says how long a log can be, and what makes room for a longer one. A greater depth makes
// room up to sut.MaxSteps; beyond it the message does not suggest one.
func (c *Config) logLimit() string {
	room := func(depth int) int { return (&sut.Schedule{Steps: depth}).MaxEvents() }
	most := room(c.Depth)
	limit := fmt.Sprintf("the length of its log (%s", textutil.CountOf(most, "event"))
	if most < room(sut.MaxSteps) {
		return limit + "; a greater --depth makes room for more)"
	}
	return limit + ", which cannot be raised)"
}

// waitsForClients says where a program waits for clients that nobody is, and whether they could end
// what looks like a deadlock; a deadlock besides is one whoever comes.
func (c *Config) waitsForClients(log *sut.Log) (at []proxy.Address, isNoDeadlock bool) {
	if c.Worker.Environment.Clients > 0 {
		return nil, false // they do not come, or wait themselves
	}
	at, isDeadlock := narrate.WaitsForClients(log)
	return at, len(at) > 0 && !isDeadlock
}
