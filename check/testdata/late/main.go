// Command late has a client that stores something after much else, and one that asks for it: hardly ever after that.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
)

func main() {
	var clients sync.WaitGroup
	clients.Go(func() {
		if ask("EXISTS x") != ":0\r\n" {
			os.Exit(3)
		}
	})
	clients.Go(func() { ask(append(slices.Repeat([]string{"PING"}, 12), "SET x 1")...) })
	clients.Wait()
}

// ask sends lines, each after the answer to the one before, and returns the last answer.
func ask(lines ...string) (last string) {
	conn, err := net.Dial("tcp", "127.0.0.1:6379")
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, line := range lines {
		fmt.Fprintf(conn, "%s\r\n", line)
		if last, err = answers.ReadString('\n'); err != nil {
			panic(err)
		}
	}
	return last
}
