// Package tell reports the progress of a search, from time to time.
package tell

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Teller tells how far a search is: on a terminal in a line that is rewritten, else in lines that
// become rarer. It is used under a lock.
type Teller struct {
	out  io.Writer
	live bool
	log  func(format string, args ...any) // in the place of out, if there is none
	next time.Duration                    // when the next line is due
	text string                           // what the live line shows
}

// New writes to a writer, or else logs. Both may be nil.
func New(out io.Writer, log func(format string, args ...any)) *Teller {
	t := &Teller{out: out, log: log}
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

// IsDue says whether something is to be told. It is asked often, and costs little.
func (t *Teller) IsDue(elapsed time.Duration) bool {
	return (t.out != nil || t.log != nil) && elapsed >= max(t.next, firstLine)
}

// Tell tells it. Errors of a writer are not those of the check.
func (t *Teller) Tell(elapsed time.Duration, p fmt.Stringer) {
	t.next = elapsed + min(max(elapsed, firstLine), rarest)
	switch {
	// What was longer before is cleared up to the end of the line.
	case t.live:
		t.next = elapsed + liveEvery
		t.text = p.String()
		_, _ = fmt.Fprintf(t.out, "\r%s\x1b[K", t.text)
	case t.out != nil:
		_, _ = fmt.Fprintf(t.out, "protocol: %v\n", p)
	default:
		t.log("%v", p)
	}
}

// Close clears the live line.
func (t *Teller) Close() {
	// Nothing was shown by a short search.
	if t.text != "" {
		_, _ = fmt.Fprint(t.out, "\r\x1b[K")
		t.text = ""
	}
}
