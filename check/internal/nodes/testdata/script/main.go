// Command script does what its arguments say, one after the other, on the connection that it has
// opened or accepted last.
package main

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		node(nil, os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "together" {
		var scripts [][]string
		for _, script := range os.Args[2:] {
			scripts = append(scripts, strings.Fields(script))
		}
		together(scripts)
		return
	}
	follow(os.Args[1:])
}

// sockets are what a script works with.
type sockets struct {
	listener net.Listener
	conn     net.Conn
	n        int // what the last read has come to
}

// follow takes steps one after the other. Each is a verb, and perhaps what it is about.
func follow(steps []string) {
	var s sockets
	for _, step := range steps {
		what, with, _ := strings.Cut(step, " ")
		var err error
		goesOn := true
		switch what {
		case "listen", "everywhere", "unlisten", "accept", "dial", "write", "both", "read", "close", "within":
			err = s.do(what, with)
		case "sleep":
			time.Sleep(seconds(with))
		case "leave":
			go func() { <-make(chan int) }()
			time.Sleep(seconds("1")) // so that it has begun, and has no more to do
		case "heartbeat":
			for {
				time.Sleep(time.Second)
			}
		default:
			goesOn = s.look(what, with)
		}
		if err != nil {
			panic(err)
		}
		if !goesOn {
			return
		}
	}
}

// do takes a step that is to succeed.
func (s *sockets) do(what, with string) (err error) {
	switch what {
	case "listen":
		s.listener, err = net.Listen("tcp", at(with))
	case "everywhere":
		s.listener, err = net.Listen("tcp", with)
	case "unlisten":
		err = s.listener.Close()
	case "accept":
		s.conn, err = s.listener.Accept()
	case "dial":
		s.conn, err = net.Dial("tcp", at(with))
	case "write":
		_, err = s.conn.Write([]byte(with))
	case "both": // letters, in any order
		s.both(with)
	case "read":
		size, _ := strconv.Atoi(with)
		s.n, err = s.conn.Read(make([]byte, size))
	case "close":
		err = s.conn.Close()
	case "within":
		err = s.conn.SetReadDeadline(time.Now().Add(seconds(with)))
	}
	return err
}

// both writes each of some letters from a goroutine of its own.
func (s *sockets) both(letters string) {
	var all sync.WaitGroup
	for _, letter := range letters {
		all.Go(func() { s.conn.Write([]byte(string(letter))) })
	}
	all.Wait()
}

// at is an address, of loopback where it is only a port.
func at(address string) string {
	if strings.HasPrefix(address, ":") {
		return "127.0.0.1" + address
	}
	return address
}

// look takes a step that may come to several things. It panics at what is not to be, and says
// whether the script goes on.
func (s *sockets) look(what, with string) bool {
	f := strings.Fields(with)
	got := ""
	switch what {
	case "dial-not": // what a connect comes to
		s.conn, got = whatReached(f[0], 0)
		unexpected(got, f[1], "connect")
	case "redial": // or leave it at that
		s.conn, got = whatReached(with, 0)
		return got == "made"
	case "reach-not": // within so many seconds: what a connect comes to
		s.conn, got = whatReached(f[0], seconds(f[2]))
		unexpected(got, f[1], "connect")
	case "reach": // or leave it at that
		s.conn, got = whatReached(f[0], seconds(f[1]))
		return got == "made"
	case "read-not":
		unexpected(whatRead(s.conn), with, "read")
	case "not-by": // so many seconds: what a read comes to
		s.conn.SetReadDeadline(time.Now().Add(seconds(f[1])))
		unexpected(whatRead(s.conn), f[0], "read")
		s.conn.SetReadDeadline(time.Time{})
	case "expect": // or leave it at that
		return whatRead(s.conn) == with
	case "write-not":
		unexpected(whatWritten(s.conn), with, "write")
	case "not":
		if strconv.Itoa(s.n) == with {
			panic("read " + with + " bytes")
		}
	case "try":
		s.conn.SetReadDeadline(time.Now().Add(seconds(with)))
		s.n, _ = s.conn.Read(make([]byte, 1))
	default:
		panic("no such step: " + what)
	}
	return true
}

// unexpected panics if something comes to what it is not to come to.
func unexpected(got, not, what string) {
	if got == not {
		panic("the " + what + ": " + got)
	}
}

// whatRead says what a read comes to.
func whatRead(conn net.Conn) string {
	n, err := conn.Read(make([]byte, 9))
	switch {
	case n > 0:
		return "data"
	case err == io.EOF:
		return "end"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "late"
	}
	panic(err)
}

// whatReached says what a connect comes to within a time; 0: there is no limit but that of TCP.
func whatReached(address string, limit time.Duration) (net.Conn, string) {
	conn, err := net.DialTimeout("tcp", at(address), limit)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return nil, "late"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, "refused"
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return nil, "reset"
	}
	if err != nil {
		panic(err)
	}
	return conn, "made"
}

// whatWritten says what a write comes to.
func whatWritten(conn net.Conn) string {
	_, err := conn.Write([]byte("w"))
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return "failed"
	}
	panic(err)
}

func seconds(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Second
}
