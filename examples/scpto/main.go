// Command scpto copies a file to an SSH server with the SCP protocol. It is built like JSch's
// example ScpTo, in which the paper of 2011 found a race between the main and the session
// thread, and has a bug of the same kind:
//
//   - The session goroutine waits until the server ends the channel and then tidies up: it tells
//     the server that no further session follows, and sets the channel to nil.
//   - The main goroutine sends the file, and then closes the channel if there still is one.
//
// Every single access to the channel is under a mutex, so there is no data race. But looking
// whether the channel is there and using it are two critical sections. If the session goroutine
// tidies up between the two, main calls a method of nil and panics. Natively this practically
// never happens: the server takes a millisecond to end the channel, main far less to close it.
//
// When the server ends the channel, the closing messages of main, of the session goroutine and
// of x/crypto/ssh go out in an order that depends on the schedule, each encrypted with a key
// stream that depends on the ones before. So almost no schedule can be answered from what the
// server said in another: Dropbear has to go back to where the schedules part.
//
// The directory fixed has the same program, properly synchronised.
package main

import (
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
	flag.Parse()
	if err := run(*addr, "letter.txt", []byte("Dear Dropbear,\nplease keep this.\n")); err != nil {
		fmt.Fprintln(os.Stderr, "scpto:", err)
		os.Exit(1)
	}
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

// closeChannel is the bug: what connected says need no longer be true when current is called.
func (s *session) closeChannel() {
	if s.connected() {
		// The error is of no interest: the server may have closed the channel first.
		_ = s.current().Close()
	}
}

func (s *session) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel != nil
}

func (s *session) current() ssh.Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel
}
