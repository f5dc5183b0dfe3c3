package ckptd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hasHalfClosed tells whether a socket in the network of the group has been told that its stream has ended.
func (h *hosted) hasHalfClosed() (bool, error) {
	const state = 3
	ended := []string{"08", "09", "0B"} // CLOSE_WAIT, LAST_ACK, CLOSING
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", h.process.pid, table))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > state && slices.Contains(ended, f[state]) {
				return true, nil
			}
		}
	}
	return false, nil
}

// finishRestore does what CRIU leaves undone in the network of a group that it has brought back,
// when all is there and nothing of it runs yet.
func (h *hosted) finishRestore() error {
	var ended []string
	err := inNetwork(h.network, func() (err error) {
		if ended, err = endsToRead(); err != nil {
			return err
		}
		return releasePackets()
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	number, err := inode(int(h.network.Fd()))
	if err != nil {
		return err
	}
	pids, err := processesInNetwork(number)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := readEnds(pid, ended); err != nil {
			return fmt.Errorf("read the ends of streams that process %d had read before: %w", pid, err)
		}
	}
	return nil
}

// endsToRead are the sockets, as links to descriptors name them, in the network of the calling thread whose
// stream has ended, and somebody is still to read that. Before the checkpoint it was read:
// else the group would not have been quiescent.
func endsToRead() (sockets []string, err error) {
	const state, queues, inode, closeWait = 3, 4, 9, "08"
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > inode && f[state] == closeWait && !strings.HasSuffix(f[queues], ":00000000") {
				sockets = append(sockets, "socket:["+f[inode]+"]")
			}
		}
	}
	return sockets, nil
}

// readEnds reads the end of the stream of those sockets that a process has.
func readEnds(pid int, sockets []string) error {
	directory := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if target, err := os.Readlink(directory + e.Name()); err != nil || !slices.Contains(sockets, target) {
			continue
		}
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			return err
		}
		if err := readEnd(pid, number); err != nil {
			return err
		}
	}
	return nil
}

func readEnd(pid, number int) error {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, number, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_DONTWAIT)
	if err == nil && n > 0 {
		err = errors.New("there is data")
	}
	return err
}
