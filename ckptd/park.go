package ckptd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
)

// A group that the memory backend could not hold any more has images of both kinds. Those
// in memory are processes of the incarnation that they were made in. When CRIU saves that
// one, it must not see them; when CRIU brings back another, that one is parked, without
// peers, to go on when an image in memory is wanted.

// parked is an incarnation whose peers have ended, and whose copies are kept.
type parked struct {
	process *child // its proxy
	channel int    // the checker's end of its command channel, which no checker has
}

// hideCopies has the daemon, and what it starts, not see the copies among the children of
// the proxy, until the returned function is called.
func (h *hosted) hideCopies() (show func() error, err error) {
	copies := h.daemon.store.copies(h.id)
	var places []string
	show = func() (err error) {
		for _, place := range places {
			err = errors.Join(err, unix.Unmount(place, unix.MNT_DETACH))
		}
		return err
	}
	if h.parked != nil || h.memory == nil || !h.memory.traces() {
		return show, nil
	}
	if err := h.memory.settle(); err != nil || len(copies) == 0 {
		return show, err
	}
	threads, err := procfs.Threads(h.process.pid)
	if err != nil {
		return show, err
	}
	for n, tid := range threads {
		children, err := procfs.Children(h.process.pid, tid)
		if err != nil {
			return show, err
		}
		others := ""
		for _, pid := range children {
			if !slices.Contains(copies, pid) {
				others += strconv.Itoa(pid) + " "
			}
		}
		if len(strings.Fields(others)) == len(children) {
			continue
		}
		file := fmt.Sprintf("%s.children%d", h.directory, n)
		if err := os.WriteFile(file, []byte(others), 0o600); err != nil {
			return show, err
		}
		place := fmt.Sprintf("/proc/%d/task/%d/children", h.process.pid, tid)
		err = unix.Mount(file, place, "", unix.MS_BIND, "")
		if err := errors.Join(err, os.Remove(file)); err != nil {
			return show, fmt.Errorf("hide copies of the peers in %s: %w", place, err)
		}
		places = append(places, place)
	}
	return show, nil
}

// park ends the peers of the running incarnation and keeps the rest of it. Without copies
// in it there is nothing to keep.
func (h *hosted) park() error {
	if h.parked != nil || h.memory == nil || !h.memory.traces() || h.process == nil || h.process.ended() {
		return errNothingToPark
	}
	v, err := proxy.Visit(h.channel)
	if err != nil {
		return err
	}
	defer v.Close()
	number, err := sys.Inode(int(h.network.Fd()))
	if err == nil {
		err = netns.KillAll(number, h.process.pid)
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
	if err := v.Enter(int(h.daemon.limbo.Fd()), pair[1], nil); err != nil {
		unix.Close(pair[0])
		return err
	}
	h.parked = &parked{process: h.process, channel: pair[0]}
	h.process, h.peers = nil, nil
	return nil
}

var errNothingToPark = errors.New("there are no copies to keep")

// unpark ends the running incarnation and goes on with the parked one, if there is one.
func (h *hosted) unpark() {
	if h.parked == nil {
		return
	}
	h.kill()
	unix.Close(h.channel)
	h.process, h.channel = h.parked.process, h.parked.channel
	h.parked = nil
}

// home is the process whose end is that of the images in memory; nil if there is none.
func (h *hosted) home() *child {
	if h.parked != nil {
		return h.parked.process
	}
	return h.process
}
