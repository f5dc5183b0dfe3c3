// Command sockets has small programs that talk to themselves, with several
// outcomes. The first argument names one; it prints which outcome it had.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

var scenarios = map[string]func(){
	"accept": acceptOrder, "writers": writers, "close": closeWhileReading, "close twice": closeTwice, "udp": datagrams,
	"udp close": closedReceiver, "deadline": deadline, "same port": samePort, "late listener": lateListener, "reset": reset,
	"twice": twice, "formatted": formatted, "full pipe": fullPipe, "readers": readers, "unrelated": unrelated, "unlink": unlink, "short": short,
	"udp connect": connectLate, "script": func() { script(os.Args[2:]) },
}

func main() { scenarios[os.Args[1]]() }

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// acceptOrder has two clients; who is accepted first says so.
func acceptOrder() {
	l := must(net.Listen("tcp", "127.0.0.1:7000"))
	for _, name := range []string{"a", "b"} {
		go func() { must(must(net.Dial("tcp", "127.0.0.1:7000")).Write([]byte(name))) }()
	}
	b := make([]byte, 1)
	for range 2 {
		must(must(l.Accept()).Read(b))
		fmt.Print(string(b))
	}
}

func pair() (net.Conn, net.Conn) {
	l := must(net.Listen("tcp", "127.0.0.1:7000"))
	c := must(net.Dial("tcp", "127.0.0.1:7000"))
	return c, must(l.Accept())
}

// twice has two goroutines write to the same connection, in two parts each.
func twice() {
	c, s := pair()
	for _, text := range []string{"ab", "cd"} {
		go func() {
			c.Write([]byte(text[:1]))
			c.Write([]byte(text[1:]))
		}()
	}
	b := make([]byte, 4)
	must(io.ReadFull(s, b))
	fmt.Print(string(b))
}

// formatted is twice by package fmt, into a pipe.
func formatted() {
	r, w, err := os.Pipe()
	must(0, err)
	for _, text := range []string{"ab", "cd"} {
		go func() {
			fmt.Fprint(w, text[:1])
			fmt.Fprint(w, text[1:])
		}()
	}
	b := make([]byte, 4)
	must(io.ReadFull(r, b))
	fmt.Print(string(b))
}

// writers write to the same connection.
func writers() {
	c, s := pair()
	for _, name := range []string{"a", "b", "c"} {
		go c.Write([]byte(name))
	}
	b := make([]byte, 3)
	must(io.ReadFull(s, b))
	fmt.Print(string(b))
}

// closeWhileReading reads what is there, or finds that the connection is closed.
func closeWhileReading() {
	c, s := pair()
	must(c.Write([]byte("x")))
	go s.Close()
	b := make([]byte, 1)
	_, err := s.Read(b)
	fmt.Print(string(b), errors.Is(err, net.ErrClosed))
}

func closeTwice() {
	c, _ := pair()
	first := make(chan bool)
	go func() { first <- c.Close() == nil }()
	fmt.Print(c.Close() == nil, <-first)
}

func datagrams() {
	to := must(net.ListenPacket("udp", "127.0.0.1:7000"))
	for _, name := range []string{"a", "b"} {
		go func() { must(must(net.Dial("udp", "127.0.0.1:7000")).Write([]byte(name))) }()
	}
	b := make([]byte, 1)
	for range 2 {
		_, _, err := to.ReadFrom(b)
		fmt.Print(string(b), err == nil)
	}
}

// closedReceiver learns whether its datagram had a reader at its second write.
func closedReceiver() {
	to := must(net.ListenPacket("udp", "127.0.0.1:7000"))
	c := must(net.Dial("udp", "127.0.0.1:7000"))
	go to.Close()
	_, first := c.Write([]byte("a"))
	_, second := c.Write([]byte("b"))
	fmt.Print(first == nil, second == nil)
}

// deadline passes at once, before or after the read.
func deadline() {
	c, s := pair()
	must(c.Write([]byte("x")))
	go s.SetReadDeadline(time.Unix(1, 0))
	_, err := s.Read(make([]byte, 1))
	fmt.Print(errors.Is(err, os.ErrDeadlineExceeded))
}

func samePort() {
	other := make(chan bool)
	go func() {
		_, err := net.Listen("tcp", "127.0.0.1:7000")
		other <- err == nil
	}()
	_, err := net.Listen("tcp", "127.0.0.1:7000")
	fmt.Print(err == nil, <-other)
}

// lateListener may be there when somebody connects, or not yet.
func lateListener() {
	go net.Listen("tcp", "127.0.0.1:7000")
	_, err := net.Dial("tcp", "127.0.0.1:7000")
	fmt.Print(err == nil)
}

// reset: whether the server had read the request when it closed shows to the client.
func reset() {
	c, s := pair()
	go func() { s.Read(make([]byte, 1)); s.Close() }()
	must(c.Write([]byte("a")))
	_, first := c.Write([]byte("b"))
	_, err := c.Read(make([]byte, 1))
	fmt.Print(first == nil, err == io.EOF)
}

// fullPipe has a writer that waits for room until the reader goes.
func fullPipe() {
	r, w := must2(os.Pipe())
	must(w.Write(make([]byte, 65536)))
	go func() { r.Read(make([]byte, 10)); r.Close() }()
	n, err := w.Write(make([]byte, 10))
	fmt.Print(n, err == nil)
}

func must2[T any](a, b T, err error) (T, T) {
	must(a, err)
	return a, b
}

// readers share a connection.
func readers() {
	c, s := pair()
	first := make(chan string)
	read := func() string { b := make([]byte, 1); s.Read(b); return string(b) }
	go func() { first <- read() }()
	must(c.Write([]byte("ab")))
	fmt.Print(read(), <-first)
}

// unrelated connections: the order of what happens to them makes no difference.
func unrelated() {
	pair() // what package net does once is done
	done := make(chan string)
	for _, port := range []string{"127.0.0.1:7001", "127.0.0.1:7002"} {
		go func() {
			l := must(net.Listen("tcp", port))
			c := must(net.Dial("tcp", port))
			s := must(l.Accept())
			must(c.Write([]byte("hello")))
			b := make([]byte, 5)
			must(s.Read(b))
			done <- string(b)
		}()
	}
	fmt.Print(<-done, <-done)
}

// connectLate turns a socket to one sender, while another one sends to it.
func connectLate() {
	s := must(net.ListenPacket("udp", "127.0.0.1:7000"))
	to := must(net.ListenPacket("udp", "127.0.0.1:7001"))
	go s.WriteTo([]byte("stranger"), to.LocalAddr())
	must(to.(*net.UDPConn).SyscallConn()).Control(func(fd uintptr) {
		syscall.Connect(int(fd), &syscall.SockaddrInet4{Port: 7002, Addr: [4]byte{127, 0, 0, 1}})
	})
	to.SetReadDeadline(time.Now().Add(time.Minute))
	n, _, err := to.ReadFrom(make([]byte, 10))
	fmt.Print(n, " ", err == nil)
}

// short reads three bytes in as many reads as that takes.
func short() {
	c, s := pair()
	must(c.Write([]byte("abc")))
	b := make([]byte, 3)
	for n := 0; n < 3; {
		m := must(s.Read(b[n:]))
		fmt.Print(m)
		n += m
	}
}

// unlink takes the name of a socket away while somebody connects.
func unlink() {
	must(net.Listen("unix", "/tmp/tandem-sockets-test"))
	go os.Remove("/tmp/tandem-sockets-test")
	_, err := net.Dial("unix", "/tmp/tandem-sockets-test")
	fmt.Print(err == nil)
}
