// Command yamux-write sends lines from one buffer, over a connection that is closed meanwhile.
package main

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/hashicorp/yamux"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if conn, err := listener.Accept(); err == nil {
			io.Copy(io.Discard, conn)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	config := yamux.DefaultConfig()
	config.EnableKeepAlive = false
	client, err := yamux.Client(conn, config)
	if err != nil {
		log.Fatal(err)
	}
	stream, err := client.Open()
	if err != nil {
		log.Fatal(err)
	}
	go client.Close()
	buffer := []byte("one")
	_, err = stream.Write(buffer)
	fmt.Println(err)
	copy(buffer, "two")
	_, err = stream.Write(buffer)
	fmt.Println(err)
}
