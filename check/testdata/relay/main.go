// Command relay passes what clients send to a web server, and back: it is a server and a client.
package main

import (
	"io"
	"log"
	"net"
	"sync"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:9000")
	if err != nil {
		log.Fatal(err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go relay(client)
	}
}

func relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Print(err)
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client) })
	both.Go(func() { pass(client, server) })
	both.Wait()
}

// pass copies one direction, and its end.
func pass(to, from net.Conn) {
	io.Copy(to, from)
	to.(*net.TCPConn).CloseWrite()
}
