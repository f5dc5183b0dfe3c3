package incarnation

import (
	"errors"
	"fmt"
)

// ErrRefused says that a backend cannot hold a group as it is. The text names what it is
// that it cannot hold.
var ErrRefused = errors.New("the memory backend cannot hold this group")

// ErrCopyKilled says that somebody has killed a copy of a process while it was made. The group goes
// on, and can be copied another time.
var ErrCopyKilled = errors.New("a copy of a peer process was killed while it was made")

// Refuse is ErrRefused with what it is that the backend cannot hold.
func Refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, a...))
}
