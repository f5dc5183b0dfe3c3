package check

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// tick says what the clock does.
func tick(e *sut.Event) string {
	seconds := e.Time().Seconds()
	switch e.Tick() {
	case sut.TickEarly:
		return fmt.Sprintf("the clock jumps ahead to %.3f s, early", seconds)
	case sut.TickLate:
		return "what is late arrives, as all else waits"
	case sut.TickForced:
		return fmt.Sprintf("the clock advances to %.3f s: all that go on only look again and again", seconds)
	}
	return fmt.Sprintf("the clock advances to %.3f s", seconds)
}

// passing says how time passes for the peers.
func passing(x driver.Exchange) string {
	t := x.Answer.Time
	passed := fmt.Sprintf("%v passes", inWords(t.Passed))
	if t.Passed == 0 {
		passed = "no time passes"
	}
	switch {
	case x.Input.Most == model.Once:
		return "time passes until a timer is due"
	case x.Answer.Shows():
		return passed
	case t.Tie:
		return passed + ", to the program's next timer and one of theirs"
	case timerPending(&x) != "":
		return passed + "; " + timerPending(&x)
	case x.Input.Most > 0:
		return passed + ", to the program's next timer"
	}
	return "no timer of theirs is set, or none makes them do anything"
}

// timerPending says which timer of the peers is not waited for.
func timerPending(x *driver.Exchange) string {
	if x.TimerOf == "" || x.Answer.Time.Tie {
		return ""
	}
	return fmt.Sprintf("a timer of %s is due in %v", x.TimerOf, inWords(x.Answer.Time.Due))
}

// inWords is a time as people read it: milliseconds are enough.
func inWords(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// assumedOfPeerTime says which timers of the peers a verdict knows nothing of.
func (o *Options) assumedOfPeerTime() string {
	patience := max(cmp.Or(o.PeerPatience, watch.DefaultPatience), 0)
	if o.Scope != iocache.Group || patience == 0 {
		return "timers of peers with the machine's clock are not waited for"
	}
	return fmt.Sprintf("timers of peers with the machine's clock that are due in more than %v are not waited for", patience)
}

// timerLeft is the timer of the peers that is not waited for.
func timerLeft(x *driver.Exchange) *report.PeerTimer {
	if x.Input.Kind != model.Pass || timerPending(x) == "" {
		return nil
	}
	return &report.PeerTimer{Peer: x.TimerOf, Due: inWords(x.Answer.Time.Due)}
}
