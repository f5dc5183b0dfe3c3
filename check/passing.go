package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// pass lets time pass for the peers. Where that takes it, they are waited for.
func (r *reaction) pass(most time.Duration) error {
	p := r.p
	ctx, cancel := context.WithTimeout(p.ctx, quiescenceLimit+p.patience)
	defer cancel()
	how := ckptd.Wait{Most: most, Patience: p.patience, Drain: r.drain, Shows: r.shows}
	if most == model.Once {
		how.Most, how.Once = 0, true
	}
	passed, err := p.group.Pass(ctx, how)
	if errors.Is(err, context.DeadlineExceeded) && p.ctx.Err() == nil {
		err = fmt.Errorf("a timer of the peers: %w", err)
	}
	r.time = model.Time{Passed: passed.Time, Idle: passed.Idle, Tie: passed.Tie, Due: passed.Due, Peer: passed.Peer}
	return err
}

// shows reports whether the peers have done something that the program can notice.
func (r *reaction) shows() (bool, error) {
	if r.p.spec.Clients() > 0 {
		if err := r.noteEnded(); err != nil {
			return false, err
		}
	}
	return len(r.list)+len(r.opened)+len(r.ended) > 0, nil
}

// lookForLate gives up where the group stands if a timer of the peers has ended there meanwhile, by
// the machine's clock, and made them do something.
func (p *conversation) lookForLate() error {
	if p.group == nil || p.at == nil || !p.group.Late() {
		return nil
	}
	r := &reaction{p: p.peerSide}
	if p.spec.Clients() > 0 {
		var err error
		if r.past, err = p.pastOf(p.at); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, quiescenceLimit)
	defer cancel()
	if err := p.group.Quiesce(ctx, r.drain); err != nil {
		return err
	}
	p.group.TakeDisturbed()
	shows, err := r.shows()
	if shows {
		p.dropSockets()
		p.at = nil
	}
	return err
}

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
func passing(x exchange) string {
	t := x.answer.Time
	passed := fmt.Sprintf("%v passes", inWords(t.Passed))
	if t.Passed == 0 {
		passed = "no time passes"
	}
	switch {
	case x.input.Most == model.Once:
		return "time passes until a timer is due"
	case x.answer.Shows():
		return passed
	case t.Tie:
		return passed + ", to the program's next timer and one of theirs"
	case x.pending() != "":
		return passed + "; " + x.pending()
	case x.input.Most > 0:
		return passed + ", to the program's next timer"
	}
	return "no timer of theirs is set, or none makes them do anything"
}

// pending says which timer of the peers is not waited for.
func (x *exchange) pending() string {
	if x.timerOf == "" || x.answer.Time.Tie {
		return ""
	}
	return fmt.Sprintf("a timer of %s is due in %v", x.timerOf, inWords(x.answer.Time.Due))
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
func (x *exchange) timerLeft() *report.PeerTimer {
	if x.input.Kind != model.Pass || x.pending() == "" {
		return nil
	}
	return &report.PeerTimer{Peer: x.timerOf, Due: inWords(x.answer.Time.Due)}
}
