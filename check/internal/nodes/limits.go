package nodes

import (
	"errors"
)

// maxRounds is how often a goroutine goes round a loop that waits, without any effect, while others
// can go on.
const maxRounds = 32

// errEnough ends the exploration: there is a violation, or a bound.
var errEnough = errors.New("enough")
