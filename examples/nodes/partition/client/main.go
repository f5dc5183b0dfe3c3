// Command client stores a value, and then reads it from the copy. What was acknowledged must be
// there.
package main

import (
	"io"
	"net"
)

func main() {
	if ask("127.0.0.1:7700", 7) != 'y' {
		return // nothing was promised
	}
	if value := ask("127.0.0.1:7701", 0); value != 7 {
		panic("a value that was acknowledged is lost")
	}
}

// ask sends a byte, and returns the answer.
func ask(address string, b byte) byte {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{b}); err != nil {
		panic(err)
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil {
		panic(err)
	}
	return answer[0]
}
