package ckptd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// smallHashTables makes the network namespaces that are unshared from this one small:
// walking the tables of a full size takes a good part of a dump.
func smallHashTables() error {
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

// newNetwork makes a network namespace with nothing but loopback.
func newNetwork() (*os.File, error) {
	var namespace *os.File
	err := peers.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		if err := loopbackUp(); err != nil {
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

// inNetwork runs f in the network namespace.
func inNetwork(namespace *os.File, f func() error) error {
	return peers.InNetwork(int(namespace.Fd()), f)
}

func loopbackUp() error {
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
	route := []byte{unix.AF_INET, bits, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_KERNEL, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
	route = appendAttribute(route, unix.RTA_DST, destination)
	route = appendAttribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopbackIndex))
	route = appendAttribute(route, unix.RTA_PREFSRC, []byte{127, 0, 0, 1})
	quickAck := appendAttribute(nil, metricsQuickAck, binary.NativeEndian.AppendUint32(nil, 1))
	route = appendAttribute(route, unix.RTA_METRICS, quickAck)
	return netlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, route)
}

// appendAttribute appends a netlink attribute whose value is a multiple of 4 bytes long.
func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, value...)
}

// netlinkRequest sends one request to the kernel's routing and waits for its outcome.
func netlinkRequest(kind, flags uint16, body []byte) error {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...) // sequence number and port, which the kernel fills
	return netlinkExchange(unix.NETLINK_ROUTE, append(m, body...), 1)
}

// netlinkExchange sends requests to a part of the kernel and waits for the outcome of each.
func netlinkExchange(protocol int, requests []byte, count int) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Sendto(s, requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 16<<10)
	for range count {
		n, err := unix.Read(s, answer)
		if err != nil {
			return err
		}
		if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
			return fmt.Errorf("an answer of %d bytes that is no acknowledgement", n)
		}
		if errno := -int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); errno != 0 {
			return unix.Errno(errno)
		}
	}
	return nil
}

// killAllInNetwork kills the processes in the network with this inode, half-restored ones
// too, but for one, and waits until none of them lives.
func killAllInNetwork(network uint64, except int) error {
	for round := 0; ; round++ {
		n, err := killInNetwork(network, except)
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

// killInNetwork kills the processes in the network namespace but for one, and counts them.
func killInNetwork(network uint64, except int) (int, error) {
	all, err := processesInNetwork(network)
	n := 0
	for _, pid := range all {
		if pid != except {
			unix.Kill(pid, unix.SIGKILL)
			n++
		}
	}
	return n, err
}

// processesInNetwork lists the processes in the network namespace with this inode.
func processesInNetwork(want uint64) (all []int, err error) {
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
		// A zombie has left its namespaces and fails here.
		if unix.Stat("/proc/"+e.Name()+"/ns/net", &st) == nil && st.Ino == want {
			all = append(all, pid)
		}
	}
	return all, nil
}
