// Command secondary keeps the sum that the primary sends, and stores it at some time.
package main

import (
	"encoding/binary"
	"net"
	"sync"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7002")
	if err != nil {
		panic(err)
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var sum, stored uint32
	done := make(chan bool)
	go func() {
		mu.Lock()
		stored = sum
		mu.Unlock()
		close(done)
	}()
	for {
		var n uint32
		if binary.Read(conn, binary.BigEndian, &n) != nil {
			break
		}
		mu.Lock()
		sum = n
		mu.Unlock()
	}
	<-done
	if stored > sum {
		panic("more was stored than there is")
	}
}
