// Command jsonrpc-close calls a method over JSON-RPC, and closes the connection meanwhile.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/sourcegraph/jsonrpc2"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), handler{})
	go client.Close()
	var sum int
	err = client.Call(ctx, "add", []int{1, 2}, &sum)
	fmt.Println(err)
}

// serve answers the calls of one client.
func serve(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	server := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(conn), handler{})
	<-server.DisconnectNotify()
}

// handler answers each call with 3.
type handler struct{}

func (handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, request *jsonrpc2.Request) {
	conn.Reply(ctx, request.ID, 3)
}
