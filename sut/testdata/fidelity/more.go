package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

func deadlines() {
	c, s := pair("tcp", "127.0.0.1:0")
	defer c.Close()
	defer s.Close()
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	say("read deadline", err, os.IsTimeout(err))
	_, err = c.Read(make([]byte, 1))
	say("read deadline stays", err)
	s.Write([]byte("late"))
	_, err = c.Read(make([]byte, 1))
	say("read deadline before data", err)
	c.SetReadDeadline(time.Time{})
	n, err := c.Read(make([]byte, 10))
	say("deadline taken back", n, err)
	s.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	total, chunk := 0, make([]byte, 1<<20)
	for err = nil; err == nil; {
		n, err = s.Write(chunk)
		total += n
	}
	say("write deadline", err, total > 0)
	c.SetDeadline(time.Now().Add(-time.Second))
	_, err = c.Write([]byte("x"))
	say("deadline in the past", err)

	l := must(net.Listen("tcp", "127.0.0.1:0"))
	l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Millisecond))
	_, err = l.Accept()
	say("accept deadline", err, os.IsTimeout(err))
	l.Close()
	_, err = l.Accept()
	say("accept after close", err)

	r, w := two(os.Pipe())
	r.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err = r.Read(make([]byte, 1))
	say("pipe deadline", err)
	r.Close()
	w.Close()
}

func listeners() {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	address := l.Addr().String()
	_, port := two(net.SplitHostPort(address))
	_, err := net.Listen("tcp", address)
	say("in use", err)
	other, err := net.Listen("tcp", "127.0.0.2:"+port)
	say("other address", err)
	other.Close()
	_, err = net.Listen("tcp4", ":"+port)
	say("in use by one address", err)
	_, err = net.Listen("tcp", "192.0.2.1:0")
	say("foreign address", err)
	c := must(net.Dial("tcp", address))
	say("close listener", l.Close(), l.Close())
	_, err = c.Read(make([]byte, 1))
	say("not accepted", err)
	_, err = net.Dial("tcp", address)
	say("refused", err)
	l, err = net.Listen("tcp", address)
	say("listen again", err)
	d := must(net.Dial("tcp", address))
	s := must(l.Accept())
	l.Close()
	d.Write([]byte("x"))
	n, err := s.Read(make([]byte, 2))
	say("connection outlives listener", n, err)
	_, err = net.DialTimeout("tcp", address, time.Second)
	say("refused with time-out", err)

	l = must(net.Listen("tcp", ":0"))
	_, port = two(net.SplitHostPort(l.Addr().String()))
	say("wildcard", strings.TrimSuffix(l.Addr().String(), port))
	for _, host := range []string{"127.0.0.1", "127.0.0.3", "::1", ""} {
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		s := must(l.Accept())
		remote, _ := two(net.SplitHostPort(s.RemoteAddr().String()))
		local, _ := two(net.SplitHostPort(s.LocalAddr().String()))
		say("dual stack "+host, remote, local, err)
		c.Close()
		s.Close()
	}
	l.Close()
	l = must(net.Listen("tcp6", "[::]:0"))
	_, port = two(net.SplitHostPort(l.Addr().String()))
	_, err = net.Dial("tcp4", "127.0.0.1:"+port)
	say("IPv6 only", err)
	l.Close()
	d = must((&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).Dial("tcp", must(net.Listen("tcp", "127.0.0.1:0")).Addr().String()))
	local, _ := two(net.SplitHostPort(d.LocalAddr().String()))
	say("local address", local)
}

func files() {
	c, s := pair("tcp", "127.0.0.1:0")
	f := must(c.(*net.TCPConn).File())
	say("file", f.Name() != "")
	d := must(net.FileConn(f))
	f.Close()
	c.Close()
	n, err := d.Write([]byte("through a copy"))
	say("write through a copy", n, err)
	b := make([]byte, 20)
	n, err = s.Read(b)
	say("read from a copy", string(b[:n]), err)
	d.Close()
	n, err = s.Read(b)
	say("all copies closed", n, err)

	l := must(net.Listen("tcp", "127.0.0.1:0"))
	f = must(l.(*net.TCPListener).File())
	m := must(net.FileListener(f))
	f.Close()
	l.Close()
	c, err = net.Dial("tcp", m.Addr().String())
	say("listener through a copy", err)
	s = must(m.Accept())
	m.Close()

	raw := must(c.(*net.TCPConn).SyscallConn())
	say("raw control", raw.Control(func(fd uintptr) {
		_, err := syscall.Read(int(fd), b)
		say("raw read without data", err)
		kind, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TYPE)
		say("socket type", kind == syscall.SOCK_STREAM, err)
		say("no delay", syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
		state, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		say("socket error", state, err)
	}))
	go s.Write([]byte("raw"))
	say("raw read", raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b)
		return err != syscall.EAGAIN
	}), n, err)
	say("linger", c.(*net.TCPConn).SetLinger(0), c.Close())
	_, err = s.Read(b)
	say("read after abort", err)
	_, err = s.Write(b)
	say("write after abort", err)
	s.Close()
}

func copies(dir string) {
	name := dir + "/content"
	os.WriteFile(name, []byte(strings.Repeat("content ", 50_000)), 0o600)
	c, s := pair("tcp", "127.0.0.1:0")
	go func() {
		f := must(os.Open(name))
		n, err := io.Copy(c, f)
		say("send file", n, err)
		c.Close()
	}()
	b, err := io.ReadAll(s)
	say("received", len(b), string(b[399_990:]), err)
	s.Close()

	c, s = pair("tcp", "127.0.0.1:0")
	r, w := two(os.Pipe())
	go func() { c.Write([]byte(strings.Repeat("x", 300_000))); c.Close() }()
	go func() { io.Copy(w, s); w.Close() }()
	b, err = io.ReadAll(r)
	say("socket to pipe", len(b), err)

	c, s = pair("tcp", "127.0.0.1:0")
	buffers := net.Buffers{[]byte("one "), []byte("two "), []byte("three")}
	n, err := buffers.WriteTo(c)
	c.Close()
	b, _ = io.ReadAll(s)
	say("vectors", n, err, string(b))
}

func pairs() {
	for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_SEQPACKET} {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
		say("socketpair", err)
		syscall.Write(fds[0], []byte("one"))
		syscall.Write(fds[0], []byte("two"))
		b := make([]byte, 10)
		n, err := syscall.Read(fds[1], b)
		say("socketpair read", string(b[:n]), err)
		n, _, err = syscall.Recvfrom(fds[1], b, syscall.MSG_DONTWAIT)
		say("socketpair again", n, err)
		syscall.Close(fds[0])
		if kind != syscall.SOCK_DGRAM {
			n, err = syscall.Read(fds[1], b)
			say("socketpair end", n, err)
		}
		_, err = syscall.Write(fds[1], b)
		say("socketpair closed", err)
		syscall.Close(fds[1])
	}
	var p [2]int
	say("blocking pipe", syscall.Pipe(p[:]))
	go func() { syscall.Write(p[1], []byte("later")); syscall.Close(p[1]) }()
	b := make([]byte, 10)
	n, err := syscall.Read(p[0], b)
	say("blocking read", string(b[:n]), err)
	_, err = syscall.Seek(p[0], 0, 0)
	say("seek pipe", err)
	_, err = syscall.Getpeername(p[0])
	say("not a socket", err)
}

func dialing() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:1")
	say("canceled dial", err)
	_, err = net.Dial("tcp", "127.0.0.1:1")
	say("nobody there", err)
	_, err = net.Dial("tcp", "[::1]:1")
	say("nobody there either", err)
	_, err = net.Dial("unix", strings.Repeat("x", 200))
	say("long name", err)
	c, s := pair("tcp", "127.0.0.1:0")
	tcp := c.(*net.TCPConn)
	say("options", tcp.SetKeepAlive(true), tcp.SetNoDelay(false), tcp.SetReadBuffer(4096), tcp.SetWriteBuffer(4096))
	say("close read", tcp.CloseRead())
	n, err := c.Read(make([]byte, 1))
	say("read after close read", n, err)
	n, err = c.Write([]byte("still"))
	say("write after close read", n, err)
	say("close read of peer", s.(*net.TCPConn).CloseWrite(), s.(*net.TCPConn).CloseWrite())
	s.Close()
	c.Close()
	say("half close when closed", tcp.CloseWrite())
	fmt.Println(c.LocalAddr() != nil, c.RemoteAddr() != nil)
}
