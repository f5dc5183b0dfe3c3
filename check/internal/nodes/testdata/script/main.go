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

// follow takes steps one after the other. Each is a verb, and perhaps what it is about.
func follow(steps []string) {
	var l net.Listener
	var conn net.Conn
	var err error
	n := 0
	for _, step := range steps {
		what, with, _ := strings.Cut(step, " ")
		switch what {
		case "listen":
			l, err = net.Listen("tcp", "127.0.0.1"+with)
		case "everywhere":
			l, err = net.Listen("tcp", with)
		case "unlisten":
			err = l.Close()
		case "accept":
			conn, err = l.Accept()
		case "dial":
			conn, err = net.Dial("tcp", "127.0.0.1"+with)
		case "dial-not":
			address, unexpected, _ := strings.Cut(with, " ")
			c, got := whatDialled(address)
			if conn = c; got == unexpected {
				panic("the connect: " + got)
			}
		case "redial": // or leave it at that
			c, got := whatDialled(with)
			if conn = c; got != "made" {
				return
			}
		case "write":
			_, err = conn.Write([]byte(with))
		case "read":
			size, _ := strconv.Atoi(with)
			n, err = conn.Read(make([]byte, size))
		case "read-not":
			if got := whatRead(conn); got == with {
				panic("the read: " + got)
			}
		case "not-by": // so many seconds: what a read comes to
			got, after, _ := strings.Cut(with, " ")
			conn.SetReadDeadline(time.Now().Add(seconds(after)))
			if what := whatRead(conn); what == got {
				panic("the read: " + got)
			}
			conn.SetReadDeadline(time.Time{})
		case "reach-not": // within so many seconds: what a connect comes to
			f := strings.Fields(with)
			c, got := whatReached(f[0], seconds(f[2]))
			if conn = c; got == f[1] {
				panic("the connect: " + got)
			}
		case "reach": // or leave it at that
			f := strings.Fields(with)
			if conn, _ = whatReached(f[0], seconds(f[1])); conn == nil {
				return
			}
		case "close":
			err = conn.Close()
		case "expect": // or leave it at that
			if whatRead(conn) != with {
				return
			}
		case "write-not":
			if got := whatWritten(conn); got == with {
				panic("the write: " + got)
			}
		case "not":
			if strconv.Itoa(n) == with {
				panic("read " + with + " bytes")
			}
		case "sleep":
			time.Sleep(seconds(with))
		case "within":
			err = conn.SetReadDeadline(time.Now().Add(seconds(with)))
		case "try":
			conn.SetReadDeadline(time.Now().Add(seconds(with)))
			n, _ = conn.Read(make([]byte, 1))
		case "leave":
			go func() { <-make(chan int) }()
			time.Sleep(seconds("1")) // so that it has begun, and has no more to do
		case "heartbeat":
			for {
				time.Sleep(time.Second)
			}
		}
		if err != nil {
			panic(err)
		}
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

// whatReached is whatDialled with a time limit; 0: there is none but that of TCP.
func whatReached(address string, limit time.Duration) (net.Conn, string) {
	conn, err := net.DialTimeout("tcp", "127.0.0.1"+address, limit)
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

// whatDialled says what a connect comes to.
func whatDialled(address string) (net.Conn, string) {
	conn, err := net.Dial("tcp", "127.0.0.1"+address)
	switch {
	case err == nil:
		return conn, "made"
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, "refused"
	}
	panic(err)
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
