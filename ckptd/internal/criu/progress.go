package criu

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// whileAlive ends soon after the proxy does: CRIU may wait for ever for a dead process.
// While CRIU traces the proxy nobody else is told of its end, so it has to be looked for.
//
// It looks at the state of the process in /proc, from time to time.
func whileAlive(parent context.Context, pid int) (context.Context, context.CancelFunc) {
	const (
		interval = 100 * time.Millisecond
		grace    = time.Second // in which CRIU itself notices, as it mostly does
	)
	ctx, cancel := context.WithCancel(parent)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for dead := time.Duration(0); dead < grace; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if state, _ := procfs.State(strconv.Itoa(pid)); state == 'Z' || state == 'X' {
				dead += interval
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// whileRestored ends soon after something that CRIU has restored has been killed. Its first process
// is the daemon's child, so that CRIU is not told of its end, and waits for ever; nor is it always
// told when another one does not come as far as the rest, who wait for it then. It does not look
// before CRIU may go on: so long CRIU is held up, and stands still itself.
func (c *Runner) whileRestored(parent context.Context, network *os.File,
	proceed <-chan struct{}) (context.Context, context.CancelFunc) {
	const interval = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(parent)
	go func() {
		defer cancel()
		select {
		case <-proceed:
		case <-ctx.Done():
			return
		}
		tick := time.NewTicker(cmp.Or(c.interval, interval))
		defer tick.Stop()
		for p := (progress{ran: -1}); !p.hasEnded(); {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			ran, sleep := ranIn(network)
			strangers, err := c.Reaper.StrangersIn(network)
			if err != nil {
				return
			}
			p.look(ran, sleep, strangers)
		}
	}()
	return ctx, cancel
}

// progress judges from looks at a restore whether anything comes of it yet. It counts looks at
// which nothing has run since the one before, and not the time: on a busy machine a restore takes
// long, and CRIU waits for a processor.
type progress struct {
	ran    time.Duration // of all that there is, at the look before
	idle   int           // looks in a row at which all slept, and had not run
	absent int           // looks in a row at which nothing that CRIU has made was there
	gone   int           // looks at which both was true
	seen   bool          // whether anything that CRIU has made was ever there
}

// Bounds in looks, of which there are ten in a second.
const (
	mostIdle   = 30
	mostGone   = 5   // once there was something: it has been killed
	mostAbsent = 600 // whatever CRIU does meanwhile
)

// look takes in how long all processes of the restore have run, CRIU with them, whether all of them
// sleep, and how many CRIU has made.
func (p *progress) look(ran time.Duration, sleep bool, made int) {
	if sleep && ran == p.ran {
		p.idle++
	} else {
		p.idle, p.gone = 0, 0
	}
	p.ran = ran
	if made > 0 {
		p.absent, p.gone, p.seen = 0, 0, true
		return
	}
	p.absent++
	if p.idle > 0 {
		p.gone++
	}
}

// hasEnded says whether nothing more is to be waited for.
func (p *progress) hasEnded() bool {
	return p.idle >= mostIdle || p.absent >= mostAbsent || p.seen && p.gone >= mostGone
}

// ranIn is how long all that there is in a network has run, and whether all of it sleeps. Both
// together tell a standstill: whoever sleeps and does not run at all from one look to the next
// waits for something that does not come.
func ranIn(network *os.File) (ran time.Duration, sleep bool) {
	number, err := sys.Inode(int(network.Fd()))
	if err != nil {
		return 0, false
	}
	all, err := netns.Processes(number)
	if sleep = err == nil && len(all) > 0; !sleep {
		return 0, false
	}
	for _, pid := range all {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			state, _ := procfs.State(strings.TrimPrefix(task, "/proc/"))
			sleep = sleep && state != 'R' && state != 'D'
			text, _ := os.ReadFile(task + "/schedstat") // it may have ended
			first, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(first, 10, 64)
			ran += time.Duration(n)
		}
	}
	return ran, sleep
}
