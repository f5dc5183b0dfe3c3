// Command smtp-serve is an SMTP server that is told to stop just after it was started.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net"

	"github.com/emersion/go-smtp"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:2525")
	if err != nil {
		log.Fatal(err)
	}
	server := smtp.NewServer(struct{ smtp.Backend }{})
	server.Domain = "localhost"
	stopped := make(chan error)
	go func() { stopped <- server.Serve(listener) }()
	go greet(listener.Addr().String())
	server.Close()
	fmt.Println("stopped:", <-stopped)
}

// greet connects, and shows what the server says.
func greet(address string) {
	client, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer client.Close()
	greeting, err := bufio.NewReader(client).ReadString('\n')
	fmt.Println(greeting, err)
}
