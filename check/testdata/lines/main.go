// Lines is a client whose requests are all made by a library, net/textproto: two goroutines
// add to a number that a server keeps, each over a connection of its own.
package main

import (
	"fmt"
	"net/textproto"
	"os"
	"strconv"
	"sync"
)

func main() {
	var all sync.WaitGroup
	var alone sync.Mutex
	for range 2 {
		all.Go(func() {
			if len(os.Args) > 1 {
				alone.Lock()
				defer alone.Unlock()
			}
			if err := increase(); err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
}

func increase() error {
	c, err := textproto.Dial("tcp", "127.0.0.1:7000")
	if err != nil {
		return err
	}
	line, err := ask(c, "get")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(line)
	if err != nil {
		return err
	}
	_, err = ask(c, fmt.Sprint(n+1))
	return err
}

func ask(c *textproto.Conn, request string) (answer string, err error) {
	if _, err := c.Cmd("%s", request); err != nil {
		return "", err
	}
	return c.ReadLine()
}
