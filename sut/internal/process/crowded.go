package process

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A processor is crowded when others run on it, too. A pair that takes turns on it, the checker's
// thread and a process, then waits for half of the time, however idle the rest of the machine is.
// The pair is tied, so the kernel cannot move it. It may move itself.

const (
	// lookEvery is how often a pair looks for how long it has waited. The kernel counts idle time
	// in hundredths of a second, so less would tell nothing.
	lookEvery = 50 * time.Millisecond

	// crowdedFrom is the share of time which a pair waits when it has to do with others. What it
	// waits for itself, at each turn, is much less.
	crowdedFrom = 1. / 3

	// idleFrom is the share of time in which another processor has had nothing to do, if it is
	// worth to move there.
	idleFrom = 1. / 2
)

// machine tells what a pair has to know of the machine.
type machine interface {
	// Waited is for how long threads could have run and did not, in all their lives; 0: not known.
	Waited(tids ...int) time.Duration

	// Idle is for how long each processor has had nothing to do; nil: not known.
	Idle() map[int]time.Duration
}

// crowding notices that others run on the processor of a pair, and says where it should be.
type crowding struct {
	machine machine
	last    look
}

// look is what was known at a time.
type look struct {
	at     time.Time
	thread int // the checker's; another one has another past
	waited time.Duration
	idle   map[int]time.Duration // by processor; nil: it was not asked for
}

// due reports whether it is time to look again.
func (c *crowding) due(now time.Time) bool { return now.Sub(c.last.at) >= lookEvery }

// better looks, and names the processor among those allowed that has most to spare. The answer is
// no (-1) unless the pair was kept waiting in the whole time between this look and the one before
// the last, and the other processor was mostly idle since the last.
func (c *crowding) better(now time.Time, thread, pid int, allowed *unix.CPUSet) int {
	before := c.last
	c.last = look{at: now, thread: thread, waited: c.machine.Waited(thread, pid)}
	passed := now.Sub(before.at)
	// Who does not look for long does not run either: it tells nothing.
	if before.thread != thread || passed > 10*lookEvery {
		return -1
	}
	if float64(c.last.waited-before.waited) < crowdedFrom*float64(passed) {
		return -1
	}
	c.last.idle = c.machine.Idle()
	best, most := -1, time.Duration(idleFrom*float64(passed))
	for cpu := range c.last.idle {
		was, known := before.idle[cpu]
		if !known || !allowed.IsSet(cpu) {
			continue
		}
		spare := c.last.idle[cpu] - was
		if spare > most || spare == most && best >= 0 && cpu < best {
			best, most = cpu, spare
		}
	}
	return best
}

// kernel asks the kernel of this machine.
type kernel struct{ reader procfs.Reader }

func (k *kernel) Waited(tids ...int) (sum time.Duration) {
	for _, tid := range tids {
		sum += time.Duration(waitedOf(&k.reader, tid))
	}
	return sum
}

func (k *kernel) Idle() map[int]time.Duration {
	idle, err := procfs.Idle()
	if err != nil {
		return nil
	}
	return idle
}
