package watch

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// upLoopback brings the loopback interface of the thread's network up.
func upLoopback(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	device.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, device); err != nil {
		t.Fatal(err)
	}
}

// TestLoopbackCounters: in the test's own network what was sent has been received, over IPv4 and
// IPv6 and to nobody.
func TestLoopbackCounters(t *testing.T) {
	done := make(chan struct{})
	go osthread.Run(func() error {
		defer close(done) // also when the test fails, which ends this goroutine
		checkLoopbackCounters(t)
		return nil
	})
	<-done
}

func checkLoopbackCounters(t *testing.T) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Error(err)
		return
	}
	upLoopback(t)
	l, err := openLoopback(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if under, err := l.underWay(); under || err != nil {
		t.Errorf("nothing was sent, and datagrams are said to be under way: %v", err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		receiver, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		sender, err := net.Dial("udp", receiver.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			if _, err := sender.Write(make([]byte, 300*n)); err != nil {
				t.Fatal(err)
			}
			receiver.ReadFrom(make([]byte, 1))
		}
		receiver.Close()
		sender.Write([]byte("to nobody"))
		sender.Read(make([]byte, 1)) // the error
		sender.Close()
		if under, err := l.underWay(); under || err != nil {
			t.Errorf("%s: all has arrived, and datagrams are said to be under way: %v", address, err)
		}
	}
}

func TestCountersAreParsed(t *testing.T) {
	snmp := []byte("Ip: Forwarding InReceives\nIp: 1 23\n" +
		"Udp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 1 2 3 45\n" +
		"UdpLite: InDatagrams OutDatagrams\nUdpLite: 6 7\n")
	if n := columnOf(snmp, "Ip:", "InReceives"); n != 23 {
		t.Errorf("%d packets received", n)
	}
	if n := columnOf(snmp, "Udp:", "OutDatagrams"); n != 45 {
		t.Errorf("%d datagrams sent", n)
	}
	snmp6 := []byte("Ip6InReceives                   \t12\nUdp6OutDatagrams \t3\n")
	if n := valueOf(snmp6, "Udp6OutDatagrams"); n != 3 {
		t.Errorf("%d datagrams over IPv6", n)
	}
	dev := []byte("Inter-|   Receive\n face |bytes    packets\n" +
		"    lo:  100  1 0 0 0 0 0 0 200 7 0 0 0 0 0 0\n")
	if n := sentBy(dev, "lo:"); n != 7 {
		t.Errorf("%d packets sent", n)
	}
}
