package main

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// together runs the scripts of several nodes in one program. All listen before any of them begins,
// as nodes count as if they did. A script is
//
//	serve N STEPS... NOT     accepts N connections, and has a goroutine for each do the steps
//	dial STEPS... NOT        connects to the server, and does the steps
//
// A step is a write of a letter, or a read of up to some bytes: wx, r1, r9. With a number of
// milliseconds it is a sleep, a read with a deadline, two writes with a ticker, or a select of a
// timer and what was read: s8, d8, k8, o8. What takes too long counts as the letter t. W and R are a
// write and a read that notice errors, which count as letters: e for the end of the stream, r for a
// reset, and p for a write that fails. v closes the listener, and n connects again, or comes to f
// and ends the steps if it is refused. In the end, all that was read must not be NOT. Other errors
// of connections are no failures: they end a read, or lose a write.
func together(scripts [][]string) {
	l, err := net.Listen("tcp", "127.0.0.1:7300")
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for _, script := range scripts {
		all.Go(func() { node(l, script) })
	}
	all.Wait()
}

// node does one script. Without a listener it listens itself, if it serves.
func node(l net.Listener, script []string) {
	var conns []net.Conn
	var err error
	steps := script[1 : len(script)-1]
	if script[0] == "serve" {
		if l == nil {
			if l, err = net.Listen("tcp", "127.0.0.1:7300"); err != nil {
				panic(err)
			}
		}
		for range script[1] {
			conn, err := l.Accept()
			if err != nil {
				panic(err)
			}
			conns = append(conns, conn)
		}
		steps = steps[1:]
	} else {
		conn, err := net.Dial("tcp", "127.0.0.1:7300")
		if err != nil {
			panic(err)
		}
		conns = append(conns, conn)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var got strings.Builder
	for _, conn := range conns {
		all.Go(func() {
			for _, step := range steps {
				read := ""
				switch step {
				case "v":
					l.Close()
				case "n":
					next, err := net.Dial("tcp", "127.0.0.1:7300")
					if read = "f"; err == nil {
						defer next.Close()
						read, conn = "", next
					}
				default:
					read = do(conn, step)
				}
				mu.Lock()
				got.WriteString(read)
				mu.Unlock()
				if read == "f" {
					return
				}
			}
		})
	}
	all.Wait()
	if got.String() == script[len(script)-1] {
		panic("read " + got.String())
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// do does a step, and returns what it has read.
func do(conn net.Conn, step string) string {
	number, _ := strconv.Atoi(step[1:])
	long := time.Duration(number) * time.Millisecond
	b := make([]byte, 9)
	switch step[0] {
	case 'w':
		conn.Write([]byte(step[1:]))
	case 'W':
		if whatWritten(conn) == "failed" {
			return "p"
		}
	case 'R':
		switch n, err := conn.Read(b); {
		case n > 0:
			return string(b[:n])
		case err == io.EOF:
			return "e"
		default:
			return "r"
		}
	case 's':
		time.Sleep(long)
	case 'r':
		n, _ := conn.Read(b[:number])
		return string(b[:n])
	case 'd':
		conn.SetReadDeadline(time.Now().Add(long))
		n, err := conn.Read(b)
		conn.SetReadDeadline(time.Time{})
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			return "t"
		}
		return string(b[:n])
	case 'k':
		ticker := time.NewTicker(long)
		for range 2 {
			<-ticker.C
			conn.Write([]byte("x"))
		}
		ticker.Stop()
	case 'o':
		read := make(chan string, 1)
		go func() {
			n, _ := conn.Read(b)
			read <- string(b[:n])
		}()
		select {
		case <-time.After(long):
			return "t"
		case s := <-read:
			return s
		}
	}
	return ""
}
