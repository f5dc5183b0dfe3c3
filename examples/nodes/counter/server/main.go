// Command server keeps a number for two clients. It is correct by itself: every request is one
// critical section.
package main

import (
	"fmt"
	"net"
	"sync"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7100")
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	number := 0
	for range 2 {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		all.Go(func() {
			for request := make([]byte, 2); ; {
				if _, err := conn.Read(request); err != nil {
					return // the client has ended
				}
				mu.Lock()
				switch request[0] {
				case 's': // set
					number = int(request[1])
				case 'a': // add
					number += int(request[1])
				}
				answer := []byte{byte(number)}
				mu.Unlock()
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	if number != 2 {
		panic(fmt.Sprintf("two clients have added 1, and the number is %d", number))
	}
}
