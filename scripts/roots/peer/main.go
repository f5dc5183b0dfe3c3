// Command peer has a bug that the newcomer of scripts/roots is to find: two clients of Redis count
// by GET and SET, where it takes INCR.
package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
)

func main() {
	count(0)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { count(1) })
	}
	wg.Wait()
	if n := count(0); n != 2 {
		panic(fmt.Sprintf("counted 2 times, and there are %d", n))
	}
}

// count adds to the counter, and returns what it was; a counter that is not there is 0.
func count(add int) (n int) {
	c, err := net.Dial("tcp", "127.0.0.1:6379")
	if err != nil {
		panic(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	ask := func(command string) string {
		fmt.Fprintf(c, "%s\r\n", command)
		line, err := answers.ReadString('\n')
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(line)
	}
	if ask("GET n") != "$-1" {
		line, _ := answers.ReadString('\n')
		fmt.Sscan(line, &n)
	}
	if add > 0 {
		ask(fmt.Sprintf("SET n %d", n+add))
	}
	return n
}
