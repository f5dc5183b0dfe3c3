package daemon

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
)

// A group that the memory backend could not hold any more has images of both kinds. Those in memory
// are processes of the incarnation that they were made in. When CRIU saves that one, it must not
// see them; when CRIU brings back another, that one is parked, without peers, to go on when an
// image in memory is wanted.

// parked is an incarnation whose peers have ended, and whose copies are kept. It has no peers: its
// network is that of the copies.
type parked struct {
	process *reaper.Child // its proxy
	channel int           // the checker's end of its command channel, which no checker has
}

var errNothingToPark = errors.New("there are no copies to keep")

// park ends the peers of the running incarnation and keeps the rest of it. Without copies in it
// there is nothing to keep. Its proxy goes over to the network of copies, so that what is in the
// group's can be ended with the next incarnation. Peers are killed, the copies are not: those are
// in another network. The proxy has reaped the peers by then, so that their process IDs are free.
func (r *incarnationHost) park(copyNetns *os.File) error {
	if r.parked != nil || r.memory == nil || !r.memory.Traces() || r.process == nil || r.process.Ended() {
		return errNothingToPark
	}
	v, err := proxy.Visit(r.channel)
	if err != nil {
		return err
	}
	defer v.Close()
	number, err := sys.Inode(int(r.network.Fd()))
	if err == nil {
		err = netns.KillAll(number, r.process.PID)
	}
	if err == nil {
		err = v.Reap(0)
	}
	if err != nil {
		return err
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		return err
	}
	defer unix.Close(pair[1])
	if err := v.Enter(int(copyNetns.Fd()), pair[1], nil); err != nil {
		unix.Close(pair[0])
		return err
	}
	r.parked = &parked{process: r.process, channel: pair[0]}
	r.process, r.peers = nil, nil
	return nil
}

// unpark ends the running incarnation and goes on with the parked one, if there is one. Its channel
// is not known to any checker. The restore that follows gives the proxy another one.
func (r *incarnationHost) unpark() {
	if r.parked == nil {
		return
	}
	r.kill()
	unix.Close(r.channel)
	r.process, r.channel = r.parked.process, r.parked.channel
	r.parked = nil
}

// home is the process whose end is that of the images in memory; nil if there is none.
func (r *incarnationHost) home() *reaper.Child {
	if r.parked != nil {
		return r.parked.process
	}
	return r.process
}

// hideCopies has the daemon, and what it starts, not see the copies among the children of the
// proxy, until the returned function is called, also after an error. CRIU finds children by files
// in /proc, over which others are mounted that leave the copies out.
func (r *incarnationHost) hideCopies(directory string) (show func() error, err error) {
	copies := r.store.Copies(r.id)
	var places []string
	show = func() (err error) {
		for _, place := range places {
			err = errors.Join(err, unix.Unmount(place, unix.MNT_DETACH))
		}
		return err
	}
	if r.parked != nil || r.memory == nil || !r.memory.Traces() {
		return show, nil
	}
	// A copy that was killed is a child of the proxy until the tracer has waited for it.
	if err := r.memory.AwaitKilled(); err != nil || len(copies) == 0 {
		return show, err
	}
	threads, err := procfs.Threads(r.process.PID)
	if err != nil {
		return show, err
	}
	for n, tid := range threads {
		children, err := procfs.Children(r.process.PID, tid)
		if err != nil {
			return show, err
		}
		others := childrenWithout(children, copies)
		if len(strings.Fields(others)) == len(children) {
			continue
		}
		file := fmt.Sprintf("%s.children%d", directory, n)
		if err := os.WriteFile(file, []byte(others), 0o600); err != nil {
			return show, err
		}
		place := fmt.Sprintf("/proc/%d/task/%d/children", r.process.PID, tid)
		err = unix.Mount(file, place, "", unix.MS_BIND, "")
		// The mount holds the file, which has no name from then on.
		if err := errors.Join(err, os.Remove(file)); err != nil {
			return show, fmt.Errorf("hide copies of the peers in %s: %w", place, err)
		}
		places = append(places, place)
	}
	return show, nil
}

// childrenWithout is a file as /proc/PID/task/TID/children is, without some pids.
func childrenWithout(children, hidden []int) (text string) {
	for _, pid := range children {
		if !slices.Contains(hidden, pid) {
			text += strconv.Itoa(pid) + " "
		}
	}
	return text
}
