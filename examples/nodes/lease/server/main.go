// Command server lends a lock to one client at a time, for two seconds. Who asks for it meanwhile
// gets no.
package main

import (
	"net"
	"sync"
	"time"
)

// lease is for how long a client has the lock.
const lease = 2 * time.Second

// lock is who may have it: nobody else until then.
type lock struct {
	mu    sync.Mutex
	until time.Time
}

// take lends the lock, and says whether it was free.
func (l *lock) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.until) {
		return false
	}
	l.until = now.Add(lease)
	return true
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:7950")
	if err != nil {
		panic(err)
	}
	var l lock
	for {
		conn, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(conn, &l)
	}
}

// serve answers the request of a client.
func serve(conn net.Conn, l *lock) {
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return // the client has ended
	}
	answer := "n"
	if l.take() {
		answer = "y"
	}
	_, _ = conn.Write([]byte(answer)) // a client that is gone needs none
}
