package criu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/tcprepair"
)

// CRIU gives a connection back the end of its stream by a segment whose window is the right one cut
// to 16 bits, mostly zero: what the connection sends next would wait for the timer of a window
// probe, three seconds. So the windows are noted at the checkpoint, and put back.

// States of connections whose stream has ended, as in /proc/net/tcp, and places of its fields.
const (
	closeWait, lastAck, closing         = "08", "09", "0B"
	localField, remoteField, stateField = 1, 2, 3
	queuesField, inodeField             = 4, 9
)

// connection are the addresses of the ends of one, as /proc/net/tcp has them. They are compared as
// texts, and not read.
type connection struct{ local, remote string }

// halfClosed are the connections in the network of the group that have been told that their stream
// has ended, and how many bytes each may send. Of one that no process has any more the window is
// taken to be closed.
func halfClosed(in *incarnation.Incarnation) (windows map[connection]uint32, err error) {
	sockets := map[string]connection{}
	err = eachConnection(fmt.Sprintf("/proc/%d/net/", in.PID), func(f []string) {
		if slices.Contains([]string{closeWait, lastAck, closing}, f[stateField]) {
			sockets[socketLink(f)] = connection{f[localField], f[remoteField]}
		}
	})
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	windows = map[connection]uint32{}
	for _, c := range sockets {
		windows[c] = 0 // unless a process has it
	}
	return windows, eachSocket(in.Network, sockets, func(fd int, c connection) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			windows[c] = info.Snd_wnd
		}
		return err
	})
}

// eachConnection goes through the TCP sockets of a network, in fields, by its directory in /proc. A
// Linux without IPv6 has one of the tables only. Lines that are too short are no sockets: the first
// one has the names of the columns.
func eachConnection(directory string, do func(fields []string)) error {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(directory + table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > inodeField {
				do(f)
			}
		}
	}
	return nil
}

// socketLink is what the link of a descriptor of the socket says. By this a descriptor of it is
// found in /proc.
func socketLink(fields []string) string { return "socket:[" + fields[inodeField] + "]" }

// finishRestore does what CRIU leaves undone in the network of a group that it has brought back,
// when all is there and nothing of it runs yet. Packets reach the group from then on, so that comes
// before the windows are opened.
func finishRestore(network *os.File, windows map[connection]uint32) error {
	ended := map[string]connection{}
	err := netns.InFile(network, func() error {
		err := eachConnection("/proc/thread-self/net/", func(f []string) {
			// Before the checkpoint the end was read: else the group would not have been quiescent.
			if f[stateField] == closeWait && !strings.HasSuffix(f[queuesField], ":00000000") {
				ended[socketLink(f)] = connection{f[localField], f[remoteField]}
			}
		})
		if err != nil {
			return err
		}
		return ReleasePackets()
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	return eachSocket(network, ended, func(fd int, c connection) error {
		if err := readEnd(fd); err != nil {
			return fmt.Errorf("read the end of a stream that was read before: %w", err)
		}
		return tcprepair.OpenWindow(fd, windows[c])
	})
}

// eachSocket goes through the descriptors of a group that are of some sockets, given by their
// links. A socket cannot be opened by its inode, so a descriptor of it is looked for in all
// processes.
func eachSocket(network *os.File, sockets map[string]connection, do func(fd int, c connection) error) error {
	number, err := sys.Inode(int(network.Fd()))
	if err != nil {
		return err
	}
	pids, err := netns.Processes(number)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		directory := fmt.Sprintf("/proc/%d/fd/", pid)
		entries, err := os.ReadDir(directory)
		if err != nil {
			return err
		}
		for _, e := range entries {
			target, _ := os.Readlink(directory + e.Name())
			c, wanted := sockets[target]
			if !wanted {
				continue
			}
			if err := withDescriptor(pid, e.Name(), func(fd int) error { return do(fd, c) }); err != nil {
				return fmt.Errorf("socket %s of process %d: %w", e.Name(), pid, err)
			}
		}
	}
	return nil
}

// withDescriptor calls do with a duplicate of another process's descriptor.
func withDescriptor(pid int, name string, do func(fd int) error) error {
	number, err := strconv.Atoi(name)
	if err != nil {
		return err
	}
	fd, err := sys.DuplicateOf(pid, number)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

// readEnd reads the end of a stream, as the program had done before the checkpoint: unread it would
// count as something under way.
func readEnd(fd int) error {
	n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_DONTWAIT)
	if err == nil && n > 0 {
		err = errors.New("there is data")
	}
	return err
}
