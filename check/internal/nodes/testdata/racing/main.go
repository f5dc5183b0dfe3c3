// Command racing has a server that counts requests in a variable without a lock, each in a goroutine
// of its connection, and a client that makes two requests at the same time.
package main

import (
	"net"
	"os"
)

const address = "127.0.0.1:7300"

func main() {
	if os.Args[1] == "server" {
		serve()
		return
	}
	var conns []net.Conn
	for range 2 {
		conns = append(conns, must(net.Dial("tcp", address)))
		must(conns[len(conns)-1].Write([]byte{1}))
	}
	for _, c := range conns {
		must(c.Read(make([]byte, 1)))
	}
}

func serve() {
	count, done := byte(0), make(chan bool)
	l := must(net.Listen("tcp", address))
	for range 2 {
		c := must(l.Accept())
		go func() {
			must(c.Read(make([]byte, 1)))
			count++
			must(c.Write([]byte{count}))
			done <- true
		}()
	}
	<-done
	<-done
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
