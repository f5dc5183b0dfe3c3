// Command client stores a value, and then gets it. What was acknowledged must be there, whatever
// happens to the server in between.
package main

import (
	"io"
	"net"
	"time"
)

func main() {
	for {
		if answer, err := ask(7); err == nil && answer == 'y' {
			break
		}
		time.Sleep(time.Second)
	}
	for {
		value, err := ask(0)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if value != 7 {
			panic("a value that was acknowledged is lost")
		}
		return
	}
}

// ask sends a byte, and returns the answer.
func ask(b byte) (byte, error) {
	conn, err := net.Dial("tcp", "127.0.0.1:7800")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{b}); err != nil {
		return 0, err
	}
	answer := make([]byte, 1)
	_, err = io.ReadFull(conn, answer)
	return answer[0], err
}
