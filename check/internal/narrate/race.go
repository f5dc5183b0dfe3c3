package narrate

import (
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// memoryOperation is what an access does, in words.
func memoryOperation(a sut.MemoryAccess) string {
	name := "read"
	if a.Write {
		name = "write"
	}
	if a.Atomic {
		name = "atomic " + name
	}
	return name
}

// partOfAccess reports whether a function is one by which the runtime notes an access, or that the
// program calls to make it: nobody looks for the race there.
func partOfAccess(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/", "internal/race.", "sync/atomic."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
