// Command stomp-begin sends a message in a transaction to a STOMP broker, which stops.
package main

import (
	"fmt"
	"log"
	"net"

	"github.com/go-stomp/stomp"
	"github.com/go-stomp/stomp/frame"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:61613")
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	conn, err := stomp.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	transaction := conn.Begin()
	fmt.Println(transaction.Send("/queue/museum", "text/plain", []byte("hello")))
	fmt.Println(transaction.Commit())
}

// serve is a broker that takes one client, and stops.
func serve(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := frame.NewReader(conn).Read(); err == nil {
		answers := frame.NewWriter(conn)
		answers.Write(frame.New(frame.CONNECTED, frame.Version, "1.2"))
		answers.Write(frame.New(frame.ERROR, frame.Message, "the broker stops"))
	}
}
