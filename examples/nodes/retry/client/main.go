// Command client orders one thing. If there is no answer within a second, it sends the order again.
package main

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	conn, err := net.Dial("tcp", "127.0.0.1:7400")
	if err != nil {
		panic(err)
	}
	const order = 7 // its number
	answer := make([]byte, 1)
	for {
		if _, err := conn.Write([]byte{order}); err != nil {
			panic(err)
		}
		conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err := conn.Read(answer)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			panic(err)
		}
	}
	conn.SetReadDeadline(time.Time{})
	conn.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, conn)
}
