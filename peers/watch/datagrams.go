package watch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Datagrams that are under way are on no queue. The sender's socket has let go of them, and the
// receiver's socket gets them only when a softirq has run, which may be late on a busy machine.
// But the network has only loopback. That counts what is sent, and IP counts what it receives.
// While the two numbers differ, something is under way.

// loopback are the counters of a network namespace, files of /proc.
type loopback struct {
	device, ip, six int // descriptors; six is -1 where the kernel is without IPv6
}

// openLoopback opens the counters of the network of a process. They stay open, and are read anew at
// each look.
func openLoopback(pid int) (l loopback, err error) {
	open := func(name string) int {
		fd := -1
		if err == nil {
			fd, err = unix.Open("/proc/"+strconv.Itoa(pid)+"/net/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return fd
	}
	l = loopback{device: open("dev"), ip: open("snmp"), six: open("snmp6")}
	if errors.Is(err, unix.ENOENT) && l.ip >= 0 {
		err = nil
	}
	if err != nil {
		l.close()
		return l, fmt.Errorf("counters of the group's network: %w", err)
	}
	return l, nil
}

// close closes the files that are open.
func (l loopback) close() {
	for _, fd := range []int{l.device, l.ip, l.six} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// underWay tells whether datagrams may be under way. If none was ever sent, none is. What is
// under way of TCP does not matter here: sock_diag shows it.
func (l loopback) underWay() (bool, error) {
	var buffer [8 << 10]byte
	read := func(fd int) ([]byte, error) {
		if fd < 0 {
			return nil, nil
		}
		n, err := unix.Pread(fd, buffer[:], 0)
		if err != nil {
			return nil, fmt.Errorf("counters of the group's network: %w", err)
		}
		return buffer[:n], nil
	}
	b, err := read(l.ip)
	if err != nil {
		return false, err
	}
	received, sent := columnOf(b, "Ip:", "InReceives"), columnOf(b, "Udp:", "OutDatagrams")
	if b, err = read(l.six); err != nil {
		return false, err
	}
	received, sent = received+valueOf(b, "Ip6InReceives"), sent+valueOf(b, "Udp6OutDatagrams")
	if sent == 0 {
		return false, nil
	}
	b, err = read(l.device)
	return err == nil && received != sentBy(b, "lo:"), err
}

// columnOf finds a value in /proc/net/snmp, which has for each protocol a line of titles and one
// of values.
func columnOf(b []byte, protocol, title string) uint64 {
	var titles [][]byte
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) == 0 || string(fields[0]) != protocol:
		case titles == nil:
			titles = fields
		default:
			for i := range min(len(titles), len(fields)) {
				if string(titles[i]) == title {
					return counted(fields[i])
				}
			}
		}
	}
	return 0
}

// valueOf finds a value in /proc/net/snmp6, which has a line for each.
func valueOf(b []byte, title string) uint64 {
	for line := range bytes.Lines(b) {
		if fields := bytes.Fields(line); len(fields) == 2 && string(fields[0]) == title {
			return counted(fields[1])
		}
	}
	return 0
}

// sentBy finds how many packets a device has sent, in /proc/net/dev.
func sentBy(b []byte, device string) uint64 {
	const packets = 10 // after the name and eight values of what was received, and the bytes
	for line := range bytes.Lines(b) {
		if fields := bytes.Fields(line); len(fields) > packets && string(fields[0]) == device {
			return counted(fields[packets])
		}
	}
	return 0
}

// counted reads a counter.
func counted(text []byte) uint64 {
	n, _ := strconv.ParseUint(string(text), 10, 64) // a text that is no number counts as 0
	return n
}
