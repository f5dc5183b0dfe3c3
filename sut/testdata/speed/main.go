// Command speed is what executions are timed with. The first argument names a
// program, the second how often it is run in one execution.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func main() {
	body := map[string]func(){"small": small, "http": exchange}[os.Args[1]]
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	for range n {
		body()
	}
}

// small has two goroutines that contend for a mutex.
func small() {
	var m sync.Mutex
	var wg sync.WaitGroup
	var n atomic.Int32
	for range 2 {
		wg.Go(func() {
			for range 5 {
				m.Lock()
				m.Unlock()
			}
		})
	}
	wg.Wait()
	m.Lock()
	m.Unlock()
	n.Load()
}

// exchange has a client and a server of net/http, and a request between them.
func exchange() {
	l := &listener{pipes: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "you asked for %s", r.URL.Path)
	})}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: l.dial}
	answer, err := (&http.Client{Transport: transport}).Get("http://in.process/page")
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != "you asked for /page" {
		panic(fmt.Sprintf("%q, %v", body, err))
	}
	answer.Body.Close()
	transport.CloseIdleConnections()
	server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}

// listener hands one end of a pipe to the server for each that is dialled.
type listener struct {
	pipes  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	l.pipes <- server
	return client, nil
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.pipes:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }
