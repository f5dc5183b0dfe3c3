// Command cmux-stop serves two protocols on one port, and stops while a client is still silent.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"github.com/soheilhy/cmux"
)

func main() {
	root, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	mux := cmux.New(root)
	web, rest := mux.Match(cmux.HTTP1Fast()), mux.Match(cmux.Any())
	var servers sync.WaitGroup
	servers.Go(func() { serve("web", web) })
	servers.Go(func() { serve("rest", rest) })
	go mux.Serve()

	silent, err := net.Dial("tcp", root.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer silent.Close()
	client, err := net.Dial("tcp", root.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(client, "GET / HTTP/1.1\r\n\r\n")
	answer, err := io.ReadAll(client)
	fmt.Printf("%q %v\n", answer, err)

	root.Close()
	servers.Wait()
}

// serve answers each connection with a name, until the listener is closed.
func serve(name string, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		conn.Read(make([]byte, 100))
		conn.Write([]byte(name))
		conn.Close()
	}
}
