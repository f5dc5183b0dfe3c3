package nodes

import (
	"errors"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// maxRounds is how often a goroutine goes round a loop that waits, without any effect, while others
// can go on.
const maxRounds = 32

// errEnough ends the exploration: there is a violation, or a bound.
var errEnough = errors.New("enough")

// limits says why it is not known that the nodes hold, though no execution has a violation; empty:
// there is no such reason.
func limits(system *skeleton.System, net *network.Nodes) string {
	realised := 0 // skeletons that executions have
	for _, s := range system.Skeletons() {
		// A node goes on where others have it end: no execution has this skeleton.
		if !s.Possible() {
			continue
		}
		realised++
		if network.Tick(s.Global, net) != nil {
			return "no execution was found that goes on when the clock advances"
		}
		if reason := network.Circle(s.Global, net.Names); reason != "" && net.IsWhole(s.Global) {
			return reason
		}
	}
	// Every system has an execution. Without one, a node did not do again
	// what it had done.
	if realised == 0 {
		return "no execution of all nodes together was found"
	}
	return ""
}
