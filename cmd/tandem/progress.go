package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
)

// progress tells how far a check is: in a live view on a terminal, else in plain lines,
// which become rarer. It is used by one goroutine.
type progress struct {
	out     io.Writer
	title   string // what is checked
	bounds  configs.Bounds
	peers   bool
	workers int
	plain   bool          // no live view, even on a terminal
	view    *liveView     // nil: there is none at the moment
	next    time.Duration // when the next plain line is due
}

// say prints a line.
func (p *progress) say(format string, a ...any) {
	p.pause()
	fmt.Fprintf(p.out, "tandem: "+format+"\n", a...)
}

// contradicted is check.Options.Contradicted.
func (p *progress) contradicted(err error) {
	p.say("scope auto: %v\nThe search starts over in group scope.", err)
}

// tell is check.Options.Progress.
func (p *progress) tell(v explore.Verdict, c check.Counts) {
	s := snapshot{title: p.title, verdict: v, counts: c, bounds: p.bounds, peers: p.peers, workers: p.workers}
	if terminal, ok := p.out.(*os.File); ok && !p.plain && isTerminal(terminal) {
		if p.view == nil {
			p.view = newLiveView(terminal)
		}
		p.view.show(s)
		return
	}
	if c.Elapsed < max(p.next, time.Second) {
		return
	}
	p.next = nextLine(c.Elapsed)
	p.say("%s", s.line())
}

// pause clears the live view, so that something else can be printed; the next call of
// tell begins another one.
func (p *progress) pause() {
	if p.view != nil {
		p.view.close()
		p.view = nil
	}
}

// nextLine is when another line is due after one: after twice the time, but at least every minute.
func nextLine(now time.Duration) time.Duration {
	return now + min(max(now, time.Second), time.Minute)
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil && os.Getenv("TERM") != "dumb"
}

// snapshot is how far a check is.
type snapshot struct {
	title   string
	verdict explore.Verdict
	counts  check.Counts
	bounds  configs.Bounds
	peers   bool
	workers int // at most
}

// line is a snapshot in one line.
func (s snapshot) line() string {
	v, c := s.verdict, s.counts
	text := fmt.Sprintf("%.0f s: %s (%s/s), %s", c.Elapsed.Seconds(), countOf(v.Executions, "execution"), s.rate(), countOf(v.Transitions, "transition"))
	if v.Violations > 0 {
		text += ", " + countOf(v.Violations, "violation")
	}
	if s.peers {
		text += ", cache: " + s.cache() + ", " + s.checkpoints()
	}
	return text + "; " + s.left()
}

// rows is a snapshot as a table: what, and how much.
func (s snapshot) rows() [][2]string {
	v := s.verdict
	rows := [][2]string{
		{"executions", fmt.Sprintf("%s, %s/s by %s", grouped(v.Executions), s.rate(), countOf(s.workers, "worker"))},
		{"traces", grouped(v.Executions-v.Redundant-v.Limited) + s.without()},
	}
	if v.Violations > 0 {
		rows = append(rows, [2]string{"violations", grouped(v.Violations)})
	}
	rows = append(rows, [2]string{"depth", fmt.Sprintf("%s transitions, at most %s", grouped(v.Last), grouped(v.Deepest))})
	if s.peers {
		rows = append(rows, [2]string{"cache", s.cache()}, [2]string{"peers", s.checkpoints()})
	}
	return append(rows, [2]string{"time", fmt.Sprintf("%v; %s", s.counts.Elapsed.Round(time.Second), s.left())})
}

// without says which executions are no traces of their own.
func (s snapshot) without() (text string) {
	if n := s.verdict.Redundant; n > 0 {
		text += fmt.Sprintf(", and %s redundant", grouped(n))
	}
	if n := s.verdict.Limited; n > 0 {
		text += fmt.Sprintf(", and %s cut off", grouped(n))
	}
	return text
}

func (s snapshot) rate() string {
	return grouped(int(float64(s.verdict.Executions) / max(s.counts.Elapsed.Seconds(), 1e-3)))
}

func (s snapshot) cache() string {
	return fmt.Sprintf("%s, %s", countOf(s.counts.Hits, "hit"), pluralOf(s.counts.Misses, "miss", "misses"))
}

func (s snapshot) checkpoints() string {
	return fmt.Sprintf("%s, %s", countOf(s.counts.Checkpoints, "checkpoint"), countOf(s.counts.Restores, "restore"))
}

// left is how much there may be still to do: as far as that can be estimated, and by
// the bounds.
func (s snapshot) left() string {
	v, elapsed := s.verdict, s.counts.Elapsed
	bound := fmt.Sprintf("at most %v and %s left", max(s.bounds.Time-elapsed, 0).Round(time.Second),
		countOf(max(s.bounds.Executions-v.Executions, 0), "execution"))
	seen := v.Estimate.Seen(v.Executions)
	if seen <= 0 {
		return bound
	}
	text := percent(seen) + " seen"
	if eta := elapsed.Seconds() / seen * (1 - seen); eta < s.bounds.Time.Seconds() {
		text += fmt.Sprintf(", %v to go", time.Duration(eta*float64(time.Second)).Round(time.Second))
	}
	return text + "; " + bound
}

// percent writes a fraction with two digits that count, at least.
func percent(x float64) string {
	switch {
	case x >= 0.1:
		return fmt.Sprintf("about %.0f %%", 100*x)
	case x >= 0.0001:
		return fmt.Sprintf("about %.2g %%", 100*x)
	}
	return "less than 0.01 %"
}

// countOf writes a number and what it counts.
func countOf(n int, noun string) string { return pluralOf(n, noun, noun+"s") }

func pluralOf(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + several
}

// grouped writes a number in groups of three digits.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
