// Command tries is a client and a server on two connections. The client sends on both, by two
// goroutines. When the first one has, a third one looks whether the server has answered, without
// waiting. The server answers when it has received on both. The client ends with a panic that says
// what it has found.
package main

import (
	"net"
	"os"
	"syscall"
	"time"
)

const address = "127.0.0.1:7100"

func main() {
	if os.Args[1] == "server" {
		serve()
		return
	}
	first, second := dial(), dial()
	sent := make(chan bool)
	go func() { second.Write([]byte("y")) }()
	go func() {
		first.Write([]byte("x"))
		close(sent)
	}()
	<-sent
	raw, err := first.(*net.TCPConn).SyscallConn()
	if err != nil {
		panic(err)
	}
	found := "nothing"
	raw.Read(func(fd uintptr) bool {
		if n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_DONTWAIT); err == nil && n == 1 {
			found = "an answer"
		}
		return true
	})
	time.Sleep(time.Millisecond) // until nothing else can be done
	panic("found " + found)
}

func dial() net.Conn {
	c, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	return c
}

func serve() {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	var conns []net.Conn
	for range 2 {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		if n, _ := c.Read(make([]byte, 1)); n == 0 {
			return
		}
	}
	conns[0].Write([]byte("z"))
}
