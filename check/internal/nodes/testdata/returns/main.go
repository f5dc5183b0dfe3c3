// Command returns is a server whose main returns after a second while a goroutine accepts, or with
// an argument a client that comes after that.
package main

import (
	"net"
	"os"
	"time"
)

const address = "127.0.0.1:7000"

func main() {
	if len(os.Args) > 1 {
		time.Sleep(2 * time.Second)
		if _, err := net.Dial("tcp", address); err == nil {
			panic("nobody is there any more")
		}
		return
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	go func() { _, _ = l.Accept() }()
	time.Sleep(time.Second)
}
