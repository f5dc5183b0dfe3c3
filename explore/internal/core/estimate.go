package core

import (
	"fmt"
	"math"
)

// Estimate says about how many executions a search needs in all. It is a figure for
// people to decide whether to wait, never part of a verdict.
type Estimate struct {
	Executions float64 // 0: there is no estimate; +Inf: more than can be counted
	Low, High  float64 // it is probably between these: two standard deviations on each side
	// Planned is how many a search has run or means to run; 0: that is not known. A reduction plans
	// more as it goes on. So as long as little was seen of it, the rest of the estimate is too
	// low more often than not, also High. Now and then it finds that a few need not be run.
	Planned float64
}

// Seen is the fraction of the search that so many executions are; 0 without an estimate.
func (e Estimate) Seen(executions int) float64 {
	if e.Executions <= 0 {
		return 0
	}
	return min(1, float64(executions)/e.Executions)
}

// String says it in words, in round numbers.
func (e Estimate) String() string {
	switch {
	case e.Executions == 1 && e.High == 1:
		return "1 execution in all"
	case e.Executions == e.High:
		return roundly(e.Executions) + " executions in all"
	case e.Planned > 0:
		return fmt.Sprintf("%s executions are run or planned so far, perhaps about %s in all: a rough "+
			"guess, and mostly too low while little was seen", grouped(e.Planned), e.guessed())
	}
	return fmt.Sprintf("about %s executions in all, probably %s to "+
		"%s", roundly(e.Executions), roundly(e.Low), roundly(e.High))
}

// guessed is about how many there are, in a round number that is no less than those that are known.
func (e Estimate) guessed() string {
	if math.Round(e.Executions) <= e.Planned {
		return grouped(e.Planned)
	}
	unit := unitOf(e.Executions)
	return roundly(math.Max(math.Round(e.Executions/unit)*unit, math.Ceil(e.Planned/unit)*unit))
}

// roundly writes a number with two significant digits.
func roundly(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "more than 10^308"
	case x >= 1e15:
		exponent := math.Floor(math.Log10(x))
		return fmt.Sprintf("%.1f x 10^%.0f", x/math.Pow(10, exponent), exponent)
	}
	unit := unitOf(x)
	return grouped(math.Round(x/unit) * unit)
}

// unitOf is the unit of the second significant digit.
func unitOf(x float64) float64 { return math.Pow(10, max(0, math.Floor(math.Log10(max(x, 1)))-1)) }

// grouped writes a number with a comma for each thousand.
func grouped(x float64) string {
	digits := fmt.Sprintf("%.0f", x)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Spread is an estimate with its standard deviation. There are certain to be at least so
// many executions.
func Spread(mean, deviation, certain float64) Estimate {
	mean = max(mean, certain)
	if high := mean + 2*deviation; math.IsInf(high, 0) || math.IsNaN(high) {
		return Estimate{Executions: math.Inf(1), Low: certain, High: math.Inf(1)}
	}
	return Estimate{Executions: mean, Low: max(mean-2*deviation, certain), High: mean + 2*deviation}
}
