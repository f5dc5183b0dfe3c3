// Command websocket-close waits a second for a message over a WebSocket, and then hangs up.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"nhooyr.io/websocket"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, http.HandlerFunc(serve))
	client, _, err := websocket.Dial(context.Background(), "ws://127.0.0.1:8080/", nil)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _, err := client.Read(ctx)
		fmt.Println(err)
	}()
	time.Sleep(time.Second)
	fmt.Println(client.CloseNow())
}

// serve accepts a connection, and waits for its end.
func serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.Read(r.Context())
}
