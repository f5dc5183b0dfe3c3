package main

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

const address = "127.0.0.1:7600"

// system is what a node finds.
type system struct{ l *net.TCPListener }

func (r *system) sleep(d time.Duration) { time.Sleep(d) }

func (r *system) accept(limit time.Duration) (*stream, string) {
	if r.l == nil {
		l, err := net.Listen("tcp", address)
		if err != nil {
			panic(err)
		}
		r.l = l.(*net.TCPListener)
	}
	r.l.SetDeadline(time.Now().Add(limit))
	c, err := r.l.Accept()
	if err != nil {
		return nil, letter(err)
	}
	return &stream{c}, ""
}

func (r *system) dial(limit time.Duration) (*stream, string) {
	c, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		return nil, letter(err)
	}
	return &stream{c}, ""
}

func (r *system) connectNowhere() {
	if _, err := net.Dial("tcp", "127.0.0.1:9"); letter(err) != "f" {
		panic(err)
	}
}

// stream is a connection.
type stream struct{ net.Conn }

func (s *stream) write(data string) string {
	if _, err := s.Write([]byte(data)); err != nil {
		return "p"
	}
	return ""
}

func (s *stream) read(limit time.Duration) string {
	b := make([]byte, 9)
	s.SetReadDeadline(time.Now().Add(limit))
	n, err := s.Read(b)
	s.SetReadDeadline(time.Time{})
	if err != nil {
		return letter(err)
	}
	return string(b[:n])
}

// letter is what an error counts as.
func letter(err error) string {
	timeout, ok := err.(net.Error)
	switch {
	case err == io.EOF:
		return "e"
	case errors.Is(err, syscall.ECONNRESET):
		return "x"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "f"
	case errors.Is(err, os.ErrDeadlineExceeded), ok && timeout.Timeout():
		return "t"
	}
	panic(err)
}
