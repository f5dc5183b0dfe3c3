// Command aborts is a server, or with an argument a client that closes connections before it has
// read what comes on them. The server panics after some connections.
package main

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const address = "127.0.0.1:7000"

func main() {
	if len(os.Args) > 1 {
		for range 6 {
			ask()
		}
		return
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	for done := new(atomic.Int32); ; {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go serve(c, done)
	}
}

// ask sends something, and waits for an answer or not for long.
func ask() {
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		time.Sleep(300 * time.Millisecond)
		return
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil || rand.IntN(2) == 0 {
		return
	}
	if rand.IntN(2) == 0 {
		_ = c.SetReadDeadline(time.Now().Add(700 * time.Millisecond))
	}
	_, _ = c.Read(make([]byte, 1))
}

// serve answers until the client is gone. The fifth one is too many.
func serve(c net.Conn, done *atomic.Int32) {
	defer c.Close()
	if rand.IntN(2) == 0 {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
		_, _ = c.Write([]byte("yy"))
	}
	_, _ = io.Copy(io.Discard, c)
	if done.Add(1) == 5 {
		panic("five")
	}
}
