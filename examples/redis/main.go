// Command redis greets by way of a Redis server: one goroutine stores a greeting over a
// connection of its own, another one looks it up over a second connection, and expects it to be
// there. Nothing makes sure that it is.
//
// The two connections depend on each other in the server only. So the bug is found where the
// checker tries the requests in both orders (scope group), and missed where it takes the answers
// on a connection to depend on that connection alone (scope connection): the verdict names what
// it rests on.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:6379", "`address` of the server")
	flag.Parse()
	if err := greet(*addr); err != nil {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

// greet stores and looks up at the same time.
func greet(addr string) error {
	var clients sync.WaitGroup
	var storing, looking error
	clients.Go(func() { storing = expect(addr, "SET greeting hello\r\n", "+OK\r\n") })
	clients.Go(func() { looking = expect(addr, "GET greeting\r\n", "$5\r\n") })
	clients.Wait()
	return errors.Join(storing, looking)
}

// expect sends a request over a new connection and compares the first line of the answer.
func expect(addr, request, want string) (err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Written by the program itself: goroutines are preempted where package main writes.
	if _, err := conn.Write([]byte(request)); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != want {
		err = fmt.Errorf("the answer to %q is %q, want %q", request, line, want)
	}
	return err
}
