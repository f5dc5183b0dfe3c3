package members

import (
	"testing"

	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/protocol/session"
)

// TestAddresses: a process and a server name receivers alike. Neither package may import the other.
func TestAddresses(t *testing.T) {
	for there, here := range map[int]int{session.Front: distribute.ToFront, session.All: distribute.ToAll,
		session.Levels: distribute.ToLevels, session.Ends: distribute.ToEnds} {
		if there != here {
			t.Errorf("%d is %d in package distribute", there, here)
		}
	}
}
