package report

import (
	"slices"

	"github.com/tandem-mc/tandem/sut"
)

// Rule is a kind of violation. Machines know it by its ID, which does not change.
type Rule struct {
	ID   string // "data-race"
	Name string // "DataRace", as tools show names of rules
	// Title is a few words, Text a sentence, and Help says what can be done.
	Title, Text, Help string
}

// rules are all kinds of violations, with the outcomes of executions that are of the kind.
var rules = []struct {
	outcomes []sut.Outcome
	Rule
}{
	{[]sut.Outcome{sut.Deadlock}, Rule{"deadlock", "Deadlock", "deadlock",
		"Goroutines are left, none of them can go on, and no timer is set.",
		"See what each goroutine waits for, and which one holds it. Take locks in the same order " +
			"everywhere, and see that each channel operation has a partner on every path."}},
	{[]sut.Outcome{sut.Panicked, sut.Fatal}, Rule{"panic", "Panic", "panic or fatal error",
		"The program panics, or the runtime ends it, under some schedule.",
		"The stack says where. The schedule says which order of operations leads there."}},
	{[]sut.Outcome{sut.Exited}, Rule{"exit", "Exit", "exit status other than zero",
		"The program or the test fails under some schedule.",
		"The output says why. The schedule says which order of operations leads there."}},
	{[]sut.Outcome{sut.AssertionFailed}, Rule{"assertion", "Assertion", "failed assertion",
		"A condition that the program asserts is false under some schedule.",
		"The schedule says which order of operations makes the condition false."}},
	{[]sut.Outcome{sut.Leaked}, Rule{"goroutine-leak", "GoroutineLeak", "goroutine leak",
		"The program has ended, and goroutines are left that are blocked for ever.",
		"Give each goroutine a way to end, such as a context, and a partner to each channel operation."}},
	{[]sut.Outcome{sut.DataRace}, Rule{"data-race", "DataRace", "data race",
		"Two goroutines access the same memory, one of them writes, and nothing orders the two accesses.",
		"Order the accesses: by a mutex, a channel, or an atomic operation. See https://go.dev/ref/mem."}},
	{[]sut.Outcome{sut.Livelock}, Rule{"livelock", "Livelock", "livelock",
		"All goroutines that can go on go round in loops without effect, and no timer is set.",
		"See what each loop waits for, and who was to bring it about. Block there instead of polling."}},
}

// Rules are all kinds of violations that there are. The order does not change; new ones come last.
func Rules() (list []Rule) {
	for _, r := range rules {
		list = append(list, r.Rule)
	}
	return list
}

// RuleOf is the kind of a violation. One that is of no known kind, such as one of a later release,
// has a rule without texts.
func RuleOf(v Violation) Rule {
	for _, r := range rules {
		if slices.ContainsFunc(r.outcomes, func(o sut.Outcome) bool { return o.String() == v.Outcome }) {
			return r.Rule
		}
	}
	return Rule{ID: "violation", Name: "Violation", Title: "violation"}
}
