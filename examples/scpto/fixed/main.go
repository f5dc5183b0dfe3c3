// Command fixed is scpto without its bug: the main goroutine looks whether the channel is there
// and closes it in one critical section, so the session goroutine cannot tidy up in between.
// Whichever of the two comes first, the program ends well; the server gets their messages in the
// order they chose. With -connections, several files are copied at the same time, each over a
// connection of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/tandem-mc/tandem/examples/scpto/scp"
)

// session is one remote command: the connection it runs on and its channel.
type session struct {
	conn ssh.Conn

	mu      sync.Mutex
	channel ssh.Channel // nil after the session goroutine has tidied up
}

func main() {
	addr := flag.String("addr", "127.0.0.1:2222", "`address` of the SSH server")
	connections := flag.Int("connections", 1, "`number` of files to copy, and of connections")
	flag.Parse()
	if *connections < 1 || *connections > 100 {
		fmt.Fprintln(os.Stderr, "scpto fixed: want 1 to 100 connections")
		os.Exit(2)
	}
	if err := runAll(*addr, *connections); err != nil {
		fmt.Fprintln(os.Stderr, "scpto fixed:", err)
		os.Exit(1)
	}
}

// runAll copies n letters, the first of them in the main goroutine.
func runAll(addr string, n int) error {
	copyLetter := func(i int) error {
		name, content := "letter.txt", []byte("Dear Dropbear,\nplease keep this.\n")
		if i > 0 {
			name = fmt.Sprintf("letter%d.txt", i)
		}
		return run(addr, name, content)
	}
	failures := make([]error, n)
	var others sync.WaitGroup
	for i := 1; i < n; i++ {
		others.Go(func() { failures[i] = copyLetter(i) })
	}
	failures[0] = copyLetter(0)
	others.Wait()
	return errors.Join(failures...)
}

func run(addr, name string, content []byte) error {
	conn, err := scp.Dial(addr)
	if err != nil {
		return err
	}
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	s := &session{conn: conn, channel: channel}
	go s.watch(requests)

	if err := scp.Send(channel, name, content); err != nil {
		return err
	}
	s.closeChannel()
	fmt.Printf("%s: %d bytes copied\n", name, len(content))
	return scp.HangUp(conn)
}

// watch is the session goroutine. The requests of the server end when the channel does.
func (s *session) watch(requests <-chan *ssh.Request) {
	ssh.DiscardRequests(requests)
	// Failing to say goodbye is of no interest: the connection may be closed already.
	_, _, _ = s.conn.SendRequest("no-more-sessions@openssh.com", false, nil)
	s.mu.Lock()
	s.channel = nil
	s.mu.Unlock()
}

// closeChannel closes the channel if there still is one. That it stays is guaranteed by the mutex.
func (s *session) closeChannel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channel != nil {
		// The error is of no interest: the server may have closed the channel first.
		_ = s.channel.Close()
	}
}
