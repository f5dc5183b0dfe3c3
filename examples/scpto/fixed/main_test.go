package main

import (
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// silentConn takes any request; nothing else is asked of it.
type silentConn struct{ ssh.Conn }

func (silentConn) SendRequest(string, bool, []byte) (bool, []byte, error) { return false, nil, nil }

// impatientChannel starts the session goroutine's tidying up in the middle of Close: between the
// check and the end of the use.
type impatientChannel struct {
	ssh.Channel
	onClose func()
	closed  int
}

func (c *impatientChannel) Close() error {
	c.onClose()
	c.closed++
	return nil
}

// ended is what watch gets when the server has ended the channel.
func ended() <-chan *ssh.Request {
	requests := make(chan *ssh.Request)
	close(requests)
	return requests
}

func TestTidyingUpWaitsForTheUse(t *testing.T) {
	var session session
	var tidying sync.WaitGroup
	channel := &impatientChannel{onClose: func() {
		tidying.Go(func() { session.watch(ended()) })
		if session.mu.TryLock() {
			t.Error("the channel is used outside of the critical section of its check")
			session.mu.Unlock()
		}
	}}
	session.conn, session.channel = silentConn{}, channel
	session.closeChannel()
	tidying.Wait()
	if channel.closed != 1 || session.channel != nil {
		t.Errorf("closed %d times, channel %v; want once and nil", channel.closed, session.channel)
	}
}

func TestCloseAfterTheServerEnded(t *testing.T) {
	channel := &impatientChannel{onClose: func() {}}
	s := &session{conn: silentConn{}, channel: channel}
	s.watch(ended())
	s.closeChannel()
	if channel.closed != 0 {
		t.Errorf("channel closed %d times, want never", channel.closed)
	}
}
