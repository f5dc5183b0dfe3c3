// Websocket talks to a program behind websocketd with github.com/gorilla/websocket: one
// goroutine writes messages, another one a ping, on a connection that allows one at a time. With
// -fixed a lock keeps them apart.
package main

import (
	"log"
	"sync"

	"github.com/gorilla/websocket"

	"example.com/servers/flags"
)

func main() {
	fixed := flags.Fixed()
	conn, _, err := websocket.DefaultDialer.Dial("ws://127.0.0.1:8080/", nil)
	if err != nil {
		log.Fatal(err)
	}
	var lock sync.Mutex
	write := func(kind int, text string) {
		if fixed {
			lock.Lock()
			defer lock.Unlock()
		}
		if err := conn.WriteMessage(kind, []byte(text)); err != nil {
			log.Fatal(err)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { write(websocket.TextMessage, "one") })
	all.Go(func() { write(websocket.PingMessage, "alive?") })
	_, text, err := conn.ReadMessage()
	if err != nil || string(text) != "one" {
		log.Fatalf("%q, want %q (%v)", text, "one", err)
	}
	all.Wait()
	conn.Close()
}
