// Command fasthttp-shutdown is an HTTP server that gives the request under way a second to end.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: wait}
	go server.Serve(listener)
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: museum\r\nConnection: close\r\n\r\n")
	go io.Copy(io.Discard, client)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(server.ShutdownWithContext(ctx))
}

// wait answers when the server is shut down, or in a minute.
func wait(ctx *fasthttp.RequestCtx) {
	select {
	case <-ctx.Done():
		ctx.WriteString("the server is shut down")
	case <-time.After(time.Minute):
		ctx.WriteString("a minute is over")
	}
}
