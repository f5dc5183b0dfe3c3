// Command copy keeps a value. Whoever sends one stores it, and whoever sends 0 reads it.
package main

import (
	"net"
	"sync/atomic"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7701")
	if err != nil {
		panic(err)
	}
	var value atomic.Int32
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go serve(conn, &value)
	}
}

// serve answers each byte of a connection with the value that is kept then.
func serve(conn net.Conn, value *atomic.Int32) {
	defer conn.Close()
	for b := make([]byte, 1); ; {
		if _, err := conn.Read(b); err != nil {
			return
		}
		if b[0] != 0 {
			value.Store(int32(b[0]))
		}
		if _, err := conn.Write([]byte{byte(value.Load())}); err != nil {
			return
		}
	}
}
