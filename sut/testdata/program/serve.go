package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

// serve answers lines in capitals, on all connections at the same time, for ever.
func serve() {
	l, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		fmt.Println("listen:", err)
		return
	}
	fmt.Println("at", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Println("accept:", err)
			return
		}
		go answer(c)
	}
}

// answer answers one line and closes.
func answer(c net.Conn) {
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Printf("%v %v: %q, %v\n", c.LocalAddr(), c.RemoteAddr(), line, err)
	fmt.Fprint(c, strings.ToUpper(line))
	c.Close()
}

// serveOne closes its listener after the first connection, before it answers that.
func serveOne() {
	l, _ := net.Listen("tcp", ":8080")
	c, _ := l.Accept()
	l.Close()
	answer(c)
}

// serveBoth has a client of its own besides the peers.
func serveBoth() {
	l, _ := net.Listen("tcp", "127.0.0.1:8080")
	var clients sync.WaitGroup
	clients.Go(func() {
		c, err := net.Dial("tcp", "localhost:8080")
		if err != nil {
			panic(err)
		}
		fmt.Fprint(c, "own\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		fmt.Printf("own: %q, %v\n", line, err)
	})
	for range 2 {
		c, _ := l.Accept()
		answer(c)
	}
	clients.Wait()
}

// serveStuck never answers.
func serveStuck() {
	l, _ := net.Listen("tcp", ":8080")
	for {
		l.Accept()
	}
}
