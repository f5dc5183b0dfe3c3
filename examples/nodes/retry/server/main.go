// Command server carries out orders, each of which takes it a second. An order that comes again is
// carried out again: its answer was on the way when the client had waited long enough. With the
// argument fixed the server knows the order by its number. With quick it takes it no time.
package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

func main() {
	fixed, quick := slices.Contains(os.Args, "fixed"), slices.Contains(os.Args, "quick")
	l, err := net.Listen("tcp", "127.0.0.1:7400")
	if err != nil {
		panic(err)
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	done := map[byte]bool{}
	carriedOut := 0
	for order := make([]byte, 1); ; {
		if _, err := conn.Read(order); err != nil {
			break // the client has ended
		}
		if number := order[0]; !fixed || !done[number] {
			if !quick {
				time.Sleep(time.Second)
			}
			done[number] = true
			carriedOut++
		}
		if _, err := conn.Write([]byte{'y'}); err != nil {
			break
		}
	}
	conn.Close()
	if carriedOut != 1 {
		panic(fmt.Sprintf("one thing was ordered, and the order was carried out %d times", carriedOut))
	}
}
