// Command proxy-deadline is a server behind a load balancer. It stops while it still reads.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/pires/go-proxyproto"
)

func main() {
	tcp, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	listener := &proxyproto.Listener{Listener: tcp}
	balancer, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(balancer, "PROXY TCP4 192.0.2.1 192.0.2.2 1000 80\r\nhello\n")
	conn, err := listener.Accept()
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err := io.ReadAll(conn)
		fmt.Printf("%q from %v: %v\n", text, conn.RemoteAddr(), err)
	}()
	conn.SetReadDeadline(time.Now().Add(time.Second))
	<-done
}
