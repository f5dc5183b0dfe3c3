// Command primary adds up the numbers that it gets, and sends each sum to the secondary. A
// goroutine stores the sum at some time.
package main

import (
	"encoding/binary"
	"net"
	"sync"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7001")
	if err != nil {
		panic(err)
	}
	replica, err := net.Dial("tcp", "127.0.0.1:7002")
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
		sum += n
		mu.Unlock()
		if binary.Write(replica, binary.BigEndian, sum) != nil {
			break
		}
	}
	replica.Close()
	<-done
	if stored > sum {
		panic("more was stored than there is")
	}
}
