// Websocket is a chat over github.com/coder/websocket, with server and clients: what one says
// all hear. Who is there is under a mutex, but for the place where it is said to them. With
// -fixed that has a copy.
package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/coder/websocket"

	"example.com/libraries/flags"
)

type chat struct {
	fixed   bool
	mu      sync.Mutex
	present []*websocket.Conn
}

func main() {
	c := &chat{fixed: flags.Fixed()}
	listener, err := net.Listen("tcp", "127.0.0.1:9000")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, c)
	var both sync.WaitGroup
	for _, name := range []string{"anne", "bob"} {
		both.Go(func() {
			if err := say(name); err != nil {
				panic(err)
			}
		})
	}
	both.Wait()
}

// say says hello, and hears something.
func say(name string) error {
	ctx := context.Background()
	conn, _, err := websocket.Dial(ctx, "ws://127.0.0.1:9000", nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte(name+": hello")); err != nil {
		return err
	}
	_, _, err = conn.Read(ctx)
	return err
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.present = append(c.present, conn)
	c.mu.Unlock()
	for {
		kind, text, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		for _, each := range c.everybody() {
			each.Write(r.Context(), kind, text)
		}
	}
}

func (c *chat) everybody() []*websocket.Conn {
	if !c.fixed {
		return c.present
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.present)
}
