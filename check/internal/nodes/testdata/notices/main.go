// Command notices is a server that sends a byte and ends, and a client that receives it. Its first
// argument says what the client does then with the connection.
package main

import (
	"net"
	"os"
	"syscall"
	"time"
)

const address = "127.0.0.1:7200"

func main() {
	if os.Args[1] == "server" {
		serve()
		return
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	switch os.Args[1] {
	case "ends":
	case "closes":
		c.Close()
	case "reads":
		c.Read(make([]byte, 1))
	case "reads for a while":
		c.SetReadDeadline(time.Now().Add(time.Second))
		c.Read(make([]byte, 1))
	case "tries":
		try(c)
	case "gives up": // whoever reads goes on without an end of the stream
		begun := make(chan bool)
		go func() {
			close(begun)
			c.Read(make([]byte, 1))
		}()
		<-begun
		c.Close()
	case "ends while it reads":
		go c.Read(make([]byte, 1))
	}
}

func try(c net.Conn) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Read(func(fd uintptr) bool {
		syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_DONTWAIT)
		return true
	})
}

func serve() {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	c, err := l.Accept()
	if err != nil {
		panic(err)
	}
	c.Write([]byte("x"))
}
