// Command counting has two goroutines, each with a connection of its own, count in a Redis server, one
// after the other. It is correct: whoever comes first counts to one.
package main

import (
	"bufio"
	"net"
	"os"
	"sync"
)

func main() {
	var order sync.Mutex
	var counts []string
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", "127.0.0.1:6379")
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			order.Lock()
			defer order.Unlock()
			if _, err := conn.Write([]byte("INCR n\r\n")); err != nil {
				panic(err)
			}
			count, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				panic(err)
			}
			counts = append(counts, count)
		})
	}
	clients.Wait()
	if counts[0] != ":1\r\n" || counts[1] != ":2\r\n" {
		os.Stderr.WriteString("counted " + counts[0] + counts[1])
		os.Exit(1)
	}
}
