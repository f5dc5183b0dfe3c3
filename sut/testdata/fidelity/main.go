// Command fidelity prints what a program can see of the network and of pipes. What
// it prints must be the same on the kernel's sockets and on virtual ones.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

func main() {
	pipes()
	names()
	streams("tcp", "127.0.0.1:0")
	streams("tcp", "[::1]:0")
	udp("127.0.0.1:0")
	udp("[::1]:0")
	control("udp4", "127.0.0.1:0", syscall.IPPROTO_IP, syscall.IP_TOS)
	control("udp6", "[::1]:0", syscall.IPPROTO_IPV6, syscall.IPV6_TCLASS)
	dir := must(os.MkdirTemp("", "fidelity"))
	defer os.RemoveAll(dir)
	unix(dir)
	unixMessages(dir)
	deadlines()
	listeners()
	files()
	copies(dir)
	pairs()
	dialing()
}

// say prints a check by name. Ports differ from run to run: they are left out.
func say(name string, what ...any) {
	fmt.Printf("%s:", name)
	for _, x := range what {
		if err, ok := x.(error); ok {
			x = reason(err)
		}
		fmt.Printf(" %v", x)
	}
	fmt.Println()
}

// reason is an error without addresses.
func reason(err error) string {
	var op *net.OpError
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		return "errno " + number.Error()
	case errors.As(err, &op):
		return op.Op + " " + op.Net + ": " + op.Err.Error()
	}
	return err.Error()
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func pipes() {
	r, w, err := os.Pipe()
	say("pipe", err)
	n, err := w.Write([]byte("hello"))
	say("pipe write", n, err)
	b := make([]byte, 3)
	n, err = r.Read(b)
	say("pipe short read", n, err, string(b))
	w.Close()
	rest, err := io.ReadAll(r)
	say("pipe rest", string(rest), err)
	_, err = w.Write([]byte("x"))
	say("pipe write after close", err)
	r, w = two(os.Pipe())
	r.Close()
	_, err = w.Write([]byte("x"))
	say("pipe write without reader", err)
	r, w = two(os.Pipe())
	go func() { w.Write([]byte(strings.Repeat("x", 200_000))); w.Close() }()
	rest, err = io.ReadAll(r)
	say("pipe large", len(rest), err)
}

func two[T any](a, b T, err error) (T, T) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// pair is a connection, seen from both ends.
func pair(network, address string) (client, server net.Conn) {
	l := must(net.Listen(network, address))
	defer l.Close()
	client = must(net.Dial(network, l.Addr().String()))
	return client, must(l.Accept())
}

func streams(network, address string) {
	c, s := pair(network, address)
	say("addresses", c.LocalAddr().String() == s.RemoteAddr().String(), c.RemoteAddr().String() == s.LocalAddr().String())
	n, err := c.Write([]byte("request"))
	say("write", n, err)
	b := make([]byte, 100)
	n, err = s.Read(b)
	say("read", string(b[:n]), err)
	say("half close", c.(interface{ CloseWrite() error }).CloseWrite())
	n, err = s.Read(b)
	say("read after half close", n, err)
	_, err = c.Write([]byte("x"))
	say("write after half close", err)
	n, err = s.Write([]byte("answer"))
	say("write to half closed", n, err)
	say("close", s.Close(), s.Close())
	rest, err := io.ReadAll(c)
	say("rest", string(rest), err)
	c.Close()

	c, s = pair(network, address)
	c.Write([]byte("unread"))
	s.Close()
	n, err = c.Read(b)
	say("read after reset", n, err)
	c.Close()
	_, err = c.Read(b)
	say("read after close", err)
}
