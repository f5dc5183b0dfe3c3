package main

import (
	"testing"

	"golang.org/x/crypto/ssh"
)

// silentConn takes any request; nothing else is asked of it.
type silentConn struct{ ssh.Conn }

func (silentConn) SendRequest(string, bool, []byte) (bool, []byte, error) { return false, nil, nil }

// countingChannel counts how often it is closed.
type countingChannel struct {
	ssh.Channel
	closed int
}

func (c *countingChannel) Close() error {
	c.closed++
	return nil
}

// ended is what watch gets when the server has ended the channel.
func ended() <-chan *ssh.Request {
	requests := make(chan *ssh.Request)
	close(requests)
	return requests
}

func TestCloseBeforeTheServerEnds(t *testing.T) {
	channel := &countingChannel{}
	s := &session{conn: silentConn{}, channel: channel}
	s.closeChannel()
	s.watch(ended())
	if channel.closed != 1 {
		t.Errorf("channel closed %d times, want once", channel.closed)
	}
}

func TestCloseAfterTheServerEnded(t *testing.T) {
	channel := &countingChannel{}
	s := &session{conn: silentConn{}, channel: channel}
	s.watch(ended())
	s.closeChannel()
	if channel.closed != 0 {
		t.Errorf("channel closed %d times, want never", channel.closed)
	}
}

// The bug is there by intention: this is the schedule that the checker has to find.
func TestTidyingUpBetweenCheckAndUsePanics(t *testing.T) {
	s := &session{conn: silentConn{}, channel: &countingChannel{}}
	defer func() {
		if recover() == nil {
			t.Error("no panic: the example has lost its bug")
		}
	}()
	if s.connected() {
		s.watch(ended())
		_ = s.current().Close()
	}
}
