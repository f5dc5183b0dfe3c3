package core

import "fmt"

// DivergenceError says that an execution did not follow its schedule: the
// program under test depends on something that is not under control.
type DivergenceError struct {
	Step int    // index of the first transition that differs
	Want string // what the schedule, or the earlier execution of it, has there
	Got  string // what the execution has there
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("the execution diverged from its schedule at step %d: expected %s, got %s; "+
		"the program depends on something that is not controlled (run the same schedule twice and compare "+
		"the logs)",
		e.Step, e.Want, e.Got)
}

// LogError says that the log of an execution contradicts itself or the rules of
// Schedule: a mistake of the worker, not of the program under test.
type LogError struct {
	Step    int // index of the transition; the number of transitions for what follows them
	Problem string
}

func (e *LogError) Error() string {
	return fmt.Sprintf("the log of the execution is wrong at step %d: %s; this is a mistake of the worker "+
		"that wrote it",
		e.Step, e.Problem)
}

// WrongLog returns a *LogError.
func WrongLog(step int, format string, args ...any) error {
	return &LogError{Step: step, Problem: fmt.Sprintf(format, args...)}
}

// CheckActions reports the first transition that is not the prescribed action.
func CheckActions(prefix []Action, transitions []Transition) error {
	for i, want := range prefix {
		if i >= len(transitions) {
			return &DivergenceError{Step: i, Want: want.String(), Got: "the end of the execution"}
		}
		if got := transitions[i].Action; got != want {
			return &DivergenceError{Step: i, Want: want.String(), Got: got.String()}
		}
	}
	return nil
}
