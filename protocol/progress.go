package protocol

import (
	"fmt"
	"io"
	"os"
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

// teller tells how far a search is: on a terminal in a line that is rewritten, else in lines that
// become rarer. It is used under a lock.
type teller struct {
	out  io.Writer
	live bool
	log  func(format string, args ...any) // in the place of out, if there is none
	next time.Duration                    // when the next line is due
	text string                           // what the live line shows
}

// newTeller writes to a writer, or else logs. Both may be nil.
func newTeller(out io.Writer, log func(format string, args ...any)) *teller {
	t := &teller{out: out, log: log}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		// What is a device and no terminal, such as /dev/null, is not read by anybody.
		t.live = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return t
}

// Lines are told after a second, and then after twice the time, but each minute at least. So a long
// check leaves few lines in a log. A live line is rewritten more often.
const (
	firstLine = time.Second
	rarest    = time.Minute
	liveEvery = 200 * time.Millisecond
)

// isDue says whether something is to be told. It is asked often, and costs little.
func (t *teller) isDue(elapsed time.Duration) bool {
	return (t.out != nil || t.log != nil) && elapsed >= max(t.next, firstLine)
}

// tell tells it. Errors of a writer are not those of the check.
func (t *teller) tell(p Progress) {
	t.next = p.Elapsed + min(max(p.Elapsed, firstLine), rarest)
	switch {
	// What was longer before is cleared up to the end of the line.
	case t.live:
		t.next = p.Elapsed + liveEvery
		t.text = p.String()
		_, _ = fmt.Fprintf(t.out, "\r%s\x1b[K", t.text)
	case t.out != nil:
		_, _ = fmt.Fprintf(t.out, "protocol: %v\n", p)
	default:
		t.log("%v", p)
	}
}

// close clears the live line.
func (t *teller) close() {
	// Nothing was shown by a short search.
	if t.text != "" {
		_, _ = fmt.Fprint(t.out, "\r\x1b[K")
		t.text = ""
	}
}
