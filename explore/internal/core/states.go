package core

import "fmt"

// StateCounts say what has become of the states that a program has named.
type StateCounts struct {
	Known  int  // different states
	Ended  int  // executions that ended where they came to one of them
	Tested int  // of these, that were run further to test the promise
	Full   bool // there was no room for more: later states are taken for new ones
	Broken *Broken
}

// Broken says where a promise is broken that what follows a state depends on it only: an execution
// was in a state in which an earlier one had been, and went on as none did from there.
type Broken struct {
	PC        uint64 // where the state was named
	Execution int    // counted from 1
	Step      int    // the transition in which it named the state, counted from 1
	First     int    // the execution that was in this state first, and there; 0: none was
	FirstStep int
	// What followed was an end, with an outcome, or else another state; Known says that this was
	// known, too.
	Ends    bool
	Outcome Outcome
	Known   bool
}

// String says it in words, but for where in the source that was.
func (b *Broken) String() string {
	text := fmt.Sprintf("execution %d, which ended in a known state and was run further, named a state "+
		"in transition %d", b.Execution, b.Step)
	if b.First == 0 {
		return text + " that no execution of the search has come to"
	}
	text += fmt.Sprintf(" that execution %d had named in transition %d, and went on ", b.First, b.FirstStep)
	switch {
	case b.Ends:
		text += fmt.Sprintf("to its end (%v)", b.Outcome)
	case b.Known:
		text += "to a known state"
	default:
		text += "to a state that is not known"
	}
	return text + ", as no execution of the search did from there"
}
