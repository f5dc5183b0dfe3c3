package explore

import "errors"

// StateError says what is wrong with the state of a search.
type StateError struct{ Problem string }

func (e *StateError) Error() string {
	return "the saved state of the search cannot be used: " + e.Problem
}

// ErrNotSaveable is the error of saving a search of which there is no state.
var ErrNotSaveable = errors.New("a search of this kind cannot be saved")
