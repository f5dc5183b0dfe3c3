// Command candidate asks the voter for its vote, and leads with that and its own one: two of three.
package main

import (
	"net"
	"os"

	"github.com/tandem-mc/tandem"
)

func main() {
	conn, err := net.Dial("tcp", "127.0.0.1:7900")
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("?")); err != nil {
		panic(err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		panic(err)
	}
	if answer[0] == 'y' {
		tandem.Publish("leader of term 1", os.Args[1])
	}
}
