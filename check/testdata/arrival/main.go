// Command arrival serves its clients one after the other, and takes it that the first is called one.
package main

import (
	"bufio"
	"net"

	"github.com/tandem-mc/tandem"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:9000")
	if err != nil {
		panic(err)
	}
	for first := true; ; first = false {
		client, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		name, err := bufio.NewReader(client).ReadString('\n')
		tandem.Assert(err == nil && (name == "one\n") == first, "the wrong client came: ", name)
		client.Close()
	}
}
