// Command faults has clients that say how their connections fail. The first argument names one.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

var scenarios = map[string]func(){
	"ask":  func() { fmt.Print(ask("ping", 4)) },
	"half": func() { fmt.Print(ask("ping", 2)) },
	"two": func() {
		var answers [2]string
		var all sync.WaitGroup
		for i, text := range []string{"ab", "cd"} {
			all.Go(func() { answers[i] = ask(text, 2) })
		}
		all.Wait()
		fmt.Print(answers)
	},
}

// ask sends a text and reads it back, so many bytes at a time; within a second.
func ask(text string, atATime int) string {
	conn, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		return kind(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err.Error()
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return "write: " + kind(err)
	}
	got := ""
	for b := make([]byte, atATime); len(got) < len(text); {
		n, err := conn.Read(b)
		if got += string(b[:n]); err != nil {
			return got + kind(err)
		}
	}
	return got
}

func kind(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.EPIPE):
		return "broken"
	case errors.Is(err, io.EOF):
		return "end"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "late"
	}
	return err.Error()
}

func main() { scenarios[os.Args[1]]() }
