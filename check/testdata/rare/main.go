// Command rare says at which of many steps something rare has happened to it. The first argument says what.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const steps = 60

var scenarios = map[string]func(){"fault": fault, "read": read, "write": write, "timer": timer, "signal": arrival}

// fault asks one thing after the other until the connection fails.
func fault() {
	conn, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		fmt.Print(0)
		return
	}
	defer conn.Close()
	answer := make([]byte, 4)
	for i := range steps {
		if _, err := conn.Write([]byte("ping")); err != nil {
			fmt.Print(i, " ")
			return
		}
		if _, err := conn.Read(answer); err != nil {
			fmt.Print(i, " ")
			return
		}
	}
}

// read says which answers come in pieces.
func read() {
	conn, _ := net.Dial("tcp", "127.0.0.1:7777")
	defer conn.Close()
	answer := make([]byte, 4)
	for i := range steps {
		conn.Write([]byte("ping"))
		if n, _ := conn.Read(answer); n == 1 {
			fmt.Print(i, " ")
			conn.Read(answer)
		}
	}
}

// write does not see which requests went in pieces, but the peer does: see the test.
func write() {
	conn, _ := net.Dial("tcp", "127.0.0.1:7777")
	defer conn.Close()
	for range steps {
		conn.Write([]byte("ping"))
	}
}

// flag is raised by somebody else.
type flag struct {
	mu     sync.Mutex
	raised bool
}

func (f *flag) raise() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raised = true
}

// wait says at which step the flag is seen.
func (f *flag) wait() {
	for i := range steps {
		f.mu.Lock()
		raised := f.raised
		f.mu.Unlock()
		if raised {
			fmt.Print(i, " ")
			return
		}
	}
}

func timer() {
	var f flag
	t := time.AfterFunc(time.Hour, f.raise)
	defer t.Stop()
	f.wait()
}

func arrival() {
	var f flag
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		if _, ok := <-c; ok {
			f.raise()
		}
	}()
	f.wait()
	signal.Stop(c)
	close(c)
}

func main() { scenarios[os.Args[1]]() }
