// Package netns makes network namespaces, runs functions in them, and finds and ends the processes
// that are in one.
package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netlink"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// SmallHashTables makes the network namespaces that are unshared from this one small:
// walking the tables of a full size takes a good part of a dump.
func SmallHashTables() error {
	for name, entries := range map[string]string{
		"tcp_child_ehash_entries": "64",
		"udp_child_hash_entries":  "128",
	} {
		err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(entries), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // newer than Linux 6.0
			return err
		}
	}
	return nil
}

// New makes a network namespace with nothing but loopback, which is up. It takes about as long as a
// restore in memory takes besides, so that whoever needs one soon makes it ahead.
//
// Acknowledgements are not delayed there. Then a socket of which everything was acknowledged has
// nothing under way, which is how the quiescence of peers is judged.
func New() (*os.File, error) {
	var namespace *os.File
	err := osthread.Run(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		if err := LoopbackUp(); err != nil {
			return fmt.Errorf("bring up the loopback device: %w", err)
		}
		for _, bits := range []byte{8, 32} {
			if err := acknowledgeAtOnce(bits); err != nil {
				return fmt.Errorf("route 127.0.0.0/%d with quick acknowledgements: %w", bits, err)
			}
		}
		var err error
		namespace, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return namespace, err
}

// InFile is In, for a namespace that is open as a file.
func InFile(namespace *os.File, f func() error) error {
	return In(int(namespace.Fd()), f)
}

// LoopbackUp brings up the loopback device of the network of the calling thread.
func LoopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, device)
}

const (
	loopbackIndex   = 1  // the first device of every network namespace
	metricsQuickAck = 15 // RTAX_QUICKACK
)

// acknowledgeAtOnce replaces the local route to 127.0.0.0/8 or 127.0.0.1/32 by one without
// delayed acknowledgements: then nothing unacknowledged means that everything arrived.
func acknowledgeAtOnce(bits byte) error {
	destination := []byte{127, 0, 0, 0}
	if bits == 32 {
		destination[3] = 1
	}
	route := []byte{unix.AF_INET, bits, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_KERNEL, unix.RT_SCOPE_HOST,
		unix.RTN_LOCAL, 0, 0, 0, 0}
	route = netlink.AppendAttribute(route, unix.RTA_DST, destination)
	route = netlink.AppendAttribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopbackIndex))
	route = netlink.AppendAttribute(route, unix.RTA_PREFSRC, []byte{127, 0, 0, 1})
	quickAck := netlink.AppendAttribute(nil, metricsQuickAck, binary.NativeEndian.AppendUint32(nil, 1))
	route = netlink.AppendAttribute(route, unix.RTA_METRICS, quickAck)
	return netlink.Route(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, route)
}

// KillAll kills the processes in the network with this inode, half-restored ones too, but for one,
// and waits until none of them lives. It does so again and again, since a process may have been
// about to fork.
func KillAll(network uint64, except int) error {
	for round := 0; ; round++ {
		n, err := Kill(network, except)
		if err != nil {
			return fmt.Errorf("look for its processes: %w", err)
		}
		if n == 0 {
			return nil
		}
		if round > 10000 {
			return fmt.Errorf("%d processes survive SIGKILL", n)
		}
		time.Sleep(time.Duration(min(round, 10)) * 100 * time.Microsecond)
	}
}

// Kill kills the processes in the network namespace but for one, and counts them. It looks once, so
// that it may leave out what is forked meanwhile, and waits for nobody's end.
func Kill(network uint64, except int) (int, error) {
	all, err := Processes(network)
	n := 0
	for _, pid := range all {
		if pid != except {
			unix.Kill(pid, unix.SIGKILL)
			n++
		}
	}
	return n, err
}

// Processes lists the processes in the network namespace with this inode, but for process 1. One
// that has ended, and that nobody has waited for, is in no namespace any more, and not listed.
func Processes(want uint64) (all []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == 1 {
			continue
		}
		var st unix.Stat_t
		// The file need not be opened: what stat(2) shows of it is the namespace.
		// A zombie has left its namespaces and fails here.
		if unix.Stat("/proc/"+e.Name()+"/ns/net", &st) == nil && st.Ino == want {
			all = append(all, pid)
		}
	}
	return all, nil
}
