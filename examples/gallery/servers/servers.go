// Package servers has servers that clients in the same program talk to, over TCP.
package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{
			Name: "race-in-handler", Class: "non-blocking: data race, server", Shows: bug.DataRace,
			Doc: "a handler counts in a map: that net/http has a goroutine for each connection is easy " +
				"to forget",
			Buggy: func() { countRequests((*visits).count) },
			Fixed: func() { countRequests((*visits).countLocked) },
		},
		{
			Name: "serve-returns-early", Class: "non-blocking: order violation, server", Shows: bug.Assertion,
			Doc: "the store is closed when Serve returns, which is when Shutdown begins, and handlers " +
				"still run",
			Buggy: func() {
				shutDown(func(s *http.Server, served <-chan error) {
					go shutdown(s)
					<-served
				})
			},
			Fixed: func() { shutDown(func(s *http.Server, served <-chan error) { shutdown(s); <-served }) },
		},
		{
			Name: "silent-client", Class: "blocking: library, net", Shows: bug.Leak,
			Doc: "a server reads without a deadline, and a client that says nothing keeps its goroutine " +
				"for ever",
			Buggy: func() { serveSilentClient(func(net.Conn) {}) },
			Fixed: func() {
				serveSilentClient(func(c net.Conn) { c.SetDeadline(time.Now().Add(time.Minute)) })
			},
		},
		{
			Name: "no-half-close", Class: "blocking: library, net", Shows: bug.Deadlock,
			Doc:   "client and server both read to the end of what the other one sends, before they close",
			Buggy: func() { upload(func(*net.TCPConn) {}) },
			Fixed: func() { upload(func(c *net.TCPConn) { c.CloseWrite() }) },
		},
	}
}

// listen returns a listener and its address.
func listen() (net.Listener, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l, l.Addr().String()
}

// get makes a request on a connection of its own.
func get(address, path string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return // the server is gone
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.0\r\n\r\n", path)
	io.Copy(io.Discard, c)
}

// visits counts requests by their path.
type visits struct {
	mu    sync.Mutex
	paths map[string]int
}

// count has the bug.
func (v *visits) count(path string) { v.paths[path]++ }

func (v *visits) countLocked(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.paths[path]++
}

func countRequests(count func(*visits, string)) {
	l, address := listen()
	v := visits{paths: map[string]int{}}
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { count(&v, r.URL.Path) })
	go http.Serve(l, handler)
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() { get(address, "/") })
	}
	clients.Wait()
	l.Close()
}

func shutdown(s *http.Server) { s.Shutdown(context.Background()) }

// shutDown stops a server while a request is on its way. The store may be closed
// when stop returns: the fixed program waits for Shutdown, which waits for handlers.
func shutDown(stop func(s *http.Server, served <-chan error)) {
	l, address := listen()
	var mu sync.Mutex
	closed := false
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tandem.Assert(!closed, "a request came to a store that is closed")
	})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	var client sync.WaitGroup
	client.Go(func() { get(address, "/") })
	stop(s, served)
	mu.Lock()
	closed = true
	mu.Unlock()
	client.Wait()
}

// serveSilentClient serves a client that connects and says nothing. What limit does
// to the connection is what the bug is about.
func serveSilentClient(limit func(net.Conn)) {
	l, address := listen()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		limit(c)
		io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Hour) // the rest of the server's life
	_ = c
}

var errShort = errors.New("the server has not got all")

// upload sends a file and waits for its length. The server knows that it has all
// when the client closes its side, which finish may do.
func upload(finish func(*net.TCPConn)) {
	l, address := listen()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		data, _ := io.ReadAll(c)
		fmt.Fprint(c, len(data))
	}()
	c, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprint(c, "the file")
	finish(c.(*net.TCPConn))
	if answer, _ := io.ReadAll(c); string(answer) != "8" {
		panic(errShort)
	}
}
