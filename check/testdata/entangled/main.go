// Command entangled has two clients of a Redis server whose answers depend on each other, though
// nothing comes of that, and goroutines that write one after the other, in any order.
package main

import (
	"bufio"
	"fmt"
	"net"
	"sync"
)

func main() {
	var all sync.WaitGroup
	var mu sync.Mutex
	last := 0
	for i := range 5 {
		all.Go(func() {
			for range 2 {
				mu.Lock()
				last = last*5 + i
				mu.Unlock()
			}
		})
	}
	all.Go(func() { ask("SET x 1") })
	all.Go(func() { ask("EXISTS x") })
	all.Wait()
}

// ask sends a line, and reads the answer.
func ask(line string) {
	conn, err := net.Dial("tcp", "127.0.0.1:6379")
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", line)
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		panic(err)
	}
}
