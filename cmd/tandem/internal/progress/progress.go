// Package progress tells how far a check is, at the terminal or line by line.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
)

// Progress tells how far a check is: in a live view on a terminal, else in plain lines that become
// rarer. Executors may say something while it is told how far the check is. So all methods may be
// called at the same time. Its fields are set before that.
type Progress struct {
	Out io.Writer
	// Title is what is checked: a package, or a combination.
	Title string
	// Bounds tell how much is left; Peers says whether their counts are shown.
	Bounds  configs.Bounds
	Peers   bool
	Workers int // at most
	// Nodes says that executions are those of single nodes.
	Nodes bool
	// Plain asks for lines even on a terminal: a log would tear a live view apart.
	Plain bool

	mu   sync.Mutex // guards what is written to Out, and what follows
	view *liveView  // nil: there is none at the moment
	// found is how many of the distinct violations were told.
	found int
	// next is when the next plain line is due, from the beginning of the check.
	next time.Duration
	// simplerFrom is when it began that a violation is made simpler; 0: none is now.
	simplerFrom time.Duration
}

// Say prints a line, in front of which it clears the live view. The format needs no line end.
func (p *Progress) Say(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(format, a...)
}

// print is Say for callers that hold the mutex.
func (p *Progress) print(format string, a ...any) {
	p.clear()
	fmt.Fprintf(p.Out, "tandem: "+format+"\n", a...)
}

// Listener is what a job tells how far it is. What the checkpoint daemon and CRIU say goes to log.
func (p *Progress) Listener(log io.Writer) check.Listener {
	return check.Listener{Say: p.Say, Progress: p.tell, Log: log}
}

// tell shows how far the check is, or prints it if a line is due. A check calls it often; what it
// does then is cheap, unless something is drawn or printed.
func (p *Progress) tell(now check.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := snapshot{Progress: now, title: p.Title, bounds: p.Bounds, peers: p.Peers, nodes: p.Nodes,
		workers: p.Workers}
	// A violation is told once, above what changes all the time.
	for ; p.found < len(now.Found); p.found++ {
		p.print("%s", foundLine(p.found+1, now))
	}
	// A log, or what the daemon says, would be drawn over.
	if terminal, ok := p.Out.(*os.File); ok && !p.Plain && isTerminal(terminal) {
		if p.view == nil {
			p.view = newLiveView(terminal)
		}
		p.view.show(s)
		return
	}
	elapsed := now.Counts.Elapsed
	switch {
	case now.Limit == 0 && p.simplerFrom > 0:
		p.simplerFrom, p.next = 0, 0 // several are looked for, and the search goes on
	case now.Limit > 0 && p.simplerFrom == 0:
		p.simplerFrom, p.next = max(elapsed, 1), 0
	}
	elapsed -= p.simplerFrom
	// Nothing is said in the first second: most checks of examples are over by then.
	if elapsed < max(p.next, time.Second) {
		return
	}
	// Only plain lines have to become rarer; the view is drawn in place.
	p.next = nextLine(elapsed)
	p.print("%s", s.line())
}

// foundLine says what the violation with this number is, as a line.
func foundLine(number int, now check.Progress) string {
	v := now.Found[number-1]
	// The outcome comes first, as in the table at the end.
	text := fmt.Sprintf("violation %d: %s", number, v.Outcome)
	if v.Message != "" {
		text += ": " + v.Message
	}
	if len(v.Places) > 0 {
		text += ", " + strings.Join(v.Places, ", ")
	}
	// A program can make messages as long as it likes.
	return cut(report.Line(text), maxFoundLine)
}

// maxFoundLine bounds a line on a violation, in characters.
const maxFoundLine = 200

// Pause clears the live view, so that something else can be printed. The next call of tell begins
// another one.
func (p *Progress) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear is Pause for callers that hold the mutex.
func (p *Progress) clear() {
	if p.view != nil {
		p.view.close()
		p.view = nil
	}
}

// nextLine is when the line after this one is due: after twice the time, but at least every minute.
// So a long check leaves few lines in a log, and a short one still tells something.
func nextLine(now time.Duration) time.Duration {
	return now + min(max(now, time.Second), time.Minute)
}

// isTerminal reports whether a file is a terminal that can show a live view. A dumb
// one, such as that of an editor, cannot move the cursor.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil && os.Getenv("TERM") != "dumb"
}

// snapshot is how far a check is.
type snapshot struct {
	check.Progress
	title   string
	bounds  configs.Bounds
	peers   bool
	nodes   bool
	workers int // at most
}

// line is a snapshot in one line. It has what a log needs, which is read later: the time comes
// first.
func (s snapshot) line() string {
	v, c := s.Verdict, s.Counts
	if s.Limit > 0 {
		return "a violation is found; it is made simpler: " + s.simpler()
	}
	text := fmt.Sprintf("%.0f s: %s", c.Elapsed.Seconds(), textutil.CountOf(v.Executions, "execution"))
	if s.nodes {
		return text + fmt.Sprintf(" of single nodes (%s/s); ", s.rate()) + s.left()
	}
	text += fmt.Sprintf(" (%s/s), %s", s.rate(), textutil.CountOf(v.Transitions, "transition"))
	if v.Violations > 0 {
		text += ", " + textutil.CountOf(v.Violations, "violation") + s.distinct()
	}
	if s.peers {
		text += ", cache: " + s.cache() + ", " + s.checkpoints()
	}
	return text + "; " + s.left()
}

// rows is a snapshot as a table: what, and how much. Rows that say nothing yet are left out.
func (s snapshot) rows() [][2]string {
	v := s.Verdict
	rows := [][2]string{
		{"executions", fmt.Sprintf("%s, %s/s by %s",
			textutil.Count(v.Executions), s.rate(), textutil.CountOf(s.workers, "worker"))},
		{"traces", textutil.Count(v.Executions-v.Redundant-v.Limited) + s.without()},
	}
	if v.Violations > 0 {
		rows = append(rows, [2]string{"violations", textutil.Count(v.Violations) + s.distinct()})
	}
	// Of the last execution, and of the deepest one so far.
	depth := fmt.Sprintf("%s transitions, at most %s", textutil.Count(v.Last), textutil.Count(v.Deepest))
	rows = append(rows, [2]string{"depth", depth})
	if s.peers {
		rows = append(rows, [2]string{"cache", s.cache()}, [2]string{"peers", s.checkpoints()})
	}
	if s.Limit > 0 {
		rows = append(rows, [2]string{"made simpler", s.simpler()})
	}
	elapsed := s.Counts.Elapsed.Round(time.Second)
	return append(rows, [2]string{"time", fmt.Sprintf("%v; %s", elapsed, s.left())})
}

// simpler says how far it is to make a violation simpler. There may be fewer executions than that:
// it ends where nothing helps any more.
func (s snapshot) simpler() string {
	return fmt.Sprintf("%s of %s", textutil.Count(s.Tried),
		textutil.CountOf(s.Limit, "execution"))
}

// distinct says how many of the violations are distinct, if that is known.
func (s snapshot) distinct() string {
	if len(s.Found) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s distinct)", textutil.Count(len(s.Found)))
}

// without says which executions are no traces of their own.
func (s snapshot) without() (text string) {
	if n := s.Verdict.Redundant; n > 0 {
		text += fmt.Sprintf(", and %s redundant", textutil.Count(n))
	}
	if n := s.Verdict.Limited; n > 0 {
		text += fmt.Sprintf(", and %s cut off", textutil.Count(n))
	}
	return text
}

// rate is how many executions there were in a second, on average. The first millisecond counts in
// full, so that nothing is divided by zero.
func (s snapshot) rate() string {
	return textutil.Count(int(float64(s.Verdict.Executions) / max(s.Counts.Elapsed.Seconds(), 1e-3)))
}

// cache says how many inputs the I/O cache answered, and how many it could not.
func (s snapshot) cache() string {
	return fmt.Sprintf("%s, %s", textutil.CountOf(s.Counts.Hits, "hit"),
		textutil.PluralOf(s.Counts.Misses, "miss", "misses"))
}

// checkpoints says how often the peers were saved and taken back.
func (s snapshot) checkpoints() string {
	c := s.Counts
	return fmt.Sprintf("%s, %s", textutil.CountOf(c.Checkpoints, "checkpoint"),
		textutil.CountOf(c.Restores, "restore"))
}

// left is how much there may still be to do: as far as that can be estimated, and by the bounds.
// The estimate is that of the search; it is left out while the search cannot tell.
func (s snapshot) left() string {
	v, elapsed := s.Verdict, s.Counts.Elapsed
	// Both can be overrun by a little, since an execution is not cut off: nothing is left then, and
	// not less.
	bound := fmt.Sprintf("at most %v", max(s.bounds.Time-elapsed, 0).Round(time.Second))
	if most := s.bounds.Executions; most < configs.MaxExecutions {
		bound += " and " + textutil.CountOf(max(most-v.Executions, 0), "execution")
	}
	bound += " left"
	seen := v.Estimate.Seen(v.Executions)
	if seen <= 0 {
		return bound
	}
	text := percent(seen) + " seen"
	// The bound on time is there anyway; an estimate beyond it says nothing.
	if eta := elapsed.Seconds() / seen * (1 - seen); eta < s.bounds.Time.Seconds() {
		text += fmt.Sprintf(", %v to go", time.Duration(eta*float64(time.Second)).Round(time.Second))
	}
	return text + "; " + bound
}

// percent writes a fraction with at least two significant digits. So it moves on the display even
// when little is done. What is smaller than can be shown is said to be so.
func percent(x float64) string {
	switch {
	case x >= 0.1:
		return fmt.Sprintf("about %.0f %%", 100*x)
	case x >= 0.0001:
		return fmt.Sprintf("about %.2g %%", 100*x)
	}
	return "less than 0.01 %"
}
