// Command faults has clients that say how their connections fail. The first argument names one; a network and an
// address may follow.
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
	"ask":   func() { fmt.Print(ask("ping", 4)) },
	"half":  func() { fmt.Print(ask("ping", 2)) },
	"twice": func() { fmt.Print(twice("a", "b")) },
	"dial":  func() { fmt.Print(dial(time.Minute), " ", dial(time.Hour)) },
	"two": func() {
		var answers [2]string
		var all sync.WaitGroup
		for i, text := range []string{"ab", "cd"} {
			all.Go(func() { answers[i] = ask(text, 2) })
		}
		all.Wait()
		fmt.Print(answers)
	},
	"share":     func() { fmt.Print(share()) },
	"idle":      func() { fmt.Print(idle()) },
	"datagrams": func() { fmt.Print(datagrams(time.Second)) },
	"patient":   func() { fmt.Print(datagrams(0)) },
	"crowd": func() {
		answers := make([]string, len(os.Args)-2)
		var all sync.WaitGroup
		for i, text := range os.Args[2:] {
			all.Go(func() { answers[i] = patient(text) })
		}
		all.Wait()
		fmt.Print(answers)
	},
}

// share has one goroutine write while another one reads, over one connection.
func share() string {
	conn, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		return kind(err)
	}
	io.WriteString(conn, "a")
	done := make(chan bool)
	go func() {
		io.WriteString(conn, "b")
		close(done)
	}()
	b := make([]byte, 9)
	n, err := conn.Read(b)
	<-done
	if err != nil {
		return kind(err)
	}
	return string(b[:n])
}

// idle has a goroutine wait for what a peer never sends.
func idle() string {
	conn, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		return kind(err)
	}
	defer conn.Close()
	lost := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 9))
		lost <- err
	}()
	select {
	case err := <-lost:
		return "lost by " + kind(err)
	case <-time.After(time.Minute):
		return "idle"
	}
}

// datagrams sends texts and then reads what comes back, until nothing more does for a while; or all of them,
// if that is 0.
func datagrams(wait time.Duration) string {
	conn, err := net.Dial("udp", "127.0.0.1:7777")
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	for _, text := range os.Args[2:] {
		if _, err := io.WriteString(conn, text); err != nil {
			return "write: " + kind(err)
		}
	}
	if wait > 0 {
		conn.SetReadDeadline(time.Now().Add(wait))
	}
	got, b := "", make([]byte, 9)
	for wait > 0 || len(got) < len(os.Args[2:]) {
		n, err := conn.Read(b)
		if err != nil && wait > 0 {
			return got
		}
		if err != nil {
			return kind(err)
		}
		got += string(b[:n])
	}
	return got
}

// patient sends a text and waits for an answer.
func patient(text string) string {
	conn, err := net.Dial("udp", "127.0.0.1:7777")
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	io.WriteString(conn, text)
	b := make([]byte, 9)
	n, err := conn.Read(b)
	if err != nil {
		return kind(err)
	}
	return string(b[:n])
}

// ask sends a text and reads it back, so many bytes at a time; within a second.
func ask(text string, atATime int) string {
	network, address := "tcp", "127.0.0.1:7777"
	if len(os.Args) > 3 {
		network, address = os.Args[2], os.Args[3]
	}
	conn, err := net.Dial(network, address)
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

// twice sends one text after the other, and reads nothing.
func twice(texts ...string) string {
	conn, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		return kind(err)
	}
	defer conn.Close()
	for _, text := range texts {
		if _, err := io.WriteString(conn, text); err != nil {
			return kind(err)
		}
	}
	return "sent"
}

// dial says how a connect ends that may take so long, and after how long it fails.
func dial(timeout time.Duration) string {
	started := time.Now()
	conn, err := net.DialTimeout("tcp", "127.0.0.1:7777", timeout)
	if err != nil {
		return fmt.Sprint(kind(err), " after ", time.Since(started).Round(time.Second))
	}
	conn.Close()
	return "well"
}

func kind(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.EPIPE):
		return "broken"
	case errors.Is(err, syscall.ETIMEDOUT):
		return "unanswered"
	case errors.Is(err, io.EOF):
		return "end"
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return "late"
	}
	return err.Error()
}

func main() { scenarios[os.Args[1]]() }
