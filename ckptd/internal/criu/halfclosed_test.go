package criu

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestEachConnection goes through both tables, and leaves out what is not about a socket.
func TestEachConnection(t *testing.T) {
	directory := t.TempDir() + "/"
	const line = "   0: 0100007F:1F90 0100007F:C350 08 00000000:00000001 00:00000000 00000000 0 0 4711 1\n"
	testkit.WriteFile(t, filepath.Join(directory, "tcp"),
		"  sl  local_address rem_address\n"+line+"  short line\n")
	var links, states []string
	note := func(f []string) {
		links, states = append(links, socketLink(f)), append(states, f[stateField]+" "+f[queuesField])
	}
	if err := eachConnection(directory, note); err != nil { // a Linux without IPv6
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(directory, "tcp6"), strings.Replace(line, "4711", "4712", 1))
	if err := eachConnection(directory, note); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(links, " "); got != "socket:[4711] socket:[4711] socket:[4712]" {
		t.Errorf("%s", got)
	}
	if states[0] != "08 00000000:00000001" {
		t.Errorf("%q", states)
	}
	if err := eachConnection(directory+"tcp/", note); err == nil {
		t.Error("a directory that is none is read")
	}
}

// halfClosedMode makes the test binary a process with two connections to itself, of one of which an
// end has been closed for writing. It says so by a line, and stays until its input ends.
const halfClosedMode = "has a connection that has half ended"

func beHalfClosed() int {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	for n := 0; n < 2 && err == nil; n++ {
		var client, server net.Conn
		if client, err = net.Dial("tcp4", listener.Addr().String()); err == nil {
			server, err = listener.Accept()
		}
		if err == nil && n == 0 {
			if err = client.(*net.TCPConn).CloseWrite(); err == nil {
				_, err = io.Copy(io.Discard, server) // until the end has arrived
			}
		}
		defer runtime.KeepAlive([]net.Conn{client, server})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// TestHalfClosed finds a connection whose other end has sent the end of its stream, with its
// window, and no other: in a network of its own, since processes of the machine's come and go.
func TestHalfClosed(t *testing.T) {
	network, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	p := exec.Command("/proc/self/exe")
	p.Env = append(os.Environ(), fakeVariable+"="+halfClosedMode)
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := netns.InFile(network, p.Start); err != nil {
		t.Fatal(err)
	}
	defer p.Process.Kill()
	if text, err := io.ReadAll(io.LimitReader(out, 5)); string(text) != "ready" {
		t.Fatalf("%q, %v", text, err)
	}
	windows, err := halfClosed(&incarnation.Incarnation{PID: p.Process.Pid, Network: network})
	if err != nil || len(windows) != 1 {
		t.Errorf("%v, %v", windows, err)
	}
	for c, window := range windows {
		if window == 0 || c.local == c.remote {
			t.Errorf("%v may send %d bytes", c, window)
		}
	}
}

// TestPacketsAreHeld: between HoldPackets and ReleasePackets nothing arrives in a network but what
// has CRIU's mark; before and after it does.
func TestPacketsAreHeld(t *testing.T) {
	network, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	arrives := func(mark int) (arrived bool) {
		t.Helper()
		err := netns.InFile(network, func() error {
			const kind = unix.SOCK_DGRAM | unix.SOCK_CLOEXEC
			receiver, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer unix.Close(receiver)
			loopback := [4]byte{127, 0, 0, 1}
			if err := unix.Bind(receiver, &unix.SockaddrInet4{Addr: loopback}); err != nil {
				return err
			}
			to, err := unix.Getsockname(receiver)
			if err != nil {
				return err
			}
			sender, err := unix.Socket(unix.AF_INET, kind, 0)
			if err != nil {
				return err
			}
			defer unix.Close(sender)
			if err := unix.SetsockoptInt(sender, unix.SOL_SOCKET, unix.SO_MARK, mark); err != nil {
				return err
			}
			// Over the loopback a datagram has arrived, or was dropped, when the call returns.
			if err := unix.Sendto(sender, []byte("x"), 0, to); err != nil {
				return err
			}
			_, _, err = unix.Recvfrom(receiver, make([]byte, 1), 0)
			if arrived = err == nil; err == unix.EAGAIN {
				err = nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return arrived
	}
	if !arrives(0) {
		t.Fatal("nothing arrives before")
	}
	if err := netns.InFile(network, HoldPackets); err != nil {
		t.Fatal(err)
	}
	if arrives(0) || !arrives(criuMark) {
		t.Error("while packets are held back those of CRIU, and only they, are to arrive")
	}
	if err := netns.InFile(network, ReleasePackets); err != nil {
		t.Fatal(err)
	}
	if !arrives(0) {
		t.Error("nothing arrives afterwards")
	}
}
