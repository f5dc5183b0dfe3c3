package protocol

import (
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/show"
)

// Progress is told in plain lines, or in one line that is rewritten. A view of several lines, such
// as that of tandem check, would need the size of the terminal, and a library for it. Tests have
// mostly no terminal: go test reads what they print. So a test logs, and only a program that names
// a terminal as its Output gets a line in place.

// String is the progress in one line, of at most 79 characters as long as numbers are not huge
// and all states are in memory.
func (p Progress) String() string {
	if p.States == 0 && p.Events > 0 {
		return fmt.Sprintf("%v: %s events of local states", p.Elapsed.Round(time.Second),
			show.Short(p.Events))
	}
	// The mean rate says more about how long the rest will take than the present one.
	rate := 0
	if p.Elapsed > 0 {
		rate = int(float64(p.States) / p.Elapsed.Seconds())
	}
	disk := ""
	if p.Disk > 0 {
		disk = fmt.Sprintf(", disk %sB", show.Short(int(p.Disk)))
	}
	return fmt.Sprintf("%v: %s states, %s/s, depth %d, frontier %s, %s transitions, %s%s", p.Elapsed.Round(
		time.Second), show.Short(p.States), show.Short(rate), p.Depth, show.Short(p.Frontier),
		show.Short(int(p.Transitions)), show.Short(int(p.Bytes))+"B", disk)
}
