// Command takes does what its first argument says, with a store that is no node and with the other
// node. What it comes to is to be one of the other arguments. Numbers are letters.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	got := ""
	var store, other net.Conn
	for _, step := range os.Args[1] {
		switch step {
		case 'd':
			store = dial("127.0.0.1:6000")
		case 'n':
			got += next(store)
		case 'g': // the answer is not waited for
			write(store, "next\n")
		case 'a', 'b', 'x': // an answer after a second, one and the end, a reset
			write(store, map[rune]string{'a': "after 1000", 'b': "bye", 'x': "abort"}[step]+"\n")
		case 'e': // what comes next, in whatever way
			_, _ = store.Read(make([]byte, 100))
		case 'c':
			store.Close()
		case 's':
			time.Sleep(time.Second)
		case 'l':
			l, err := net.Listen("tcp", "127.0.0.1:7000")
			if err != nil {
				panic(err)
			}
			if other, err = l.Accept(); err != nil {
				panic(err)
			}
		case 'o':
			other = dial("127.0.0.1:7000")
		case 'w':
			write(other, "x")
		case 'r':
			if _, err := other.Read([]byte{0}); err != nil {
				panic(err)
			}
		case 'p': // two requests at the same time, over connections of their own
			answers := make(chan string)
			for range 2 {
				go func() { answers <- next(dial("127.0.0.1:6000")) }()
			}
			got += <-answers
			got += <-answers
		}
	}
	tandem.Assert(slices.Contains(os.Args[2:], got), "got="+got+".")
}

func dial(address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	return conn
}

func write(conn net.Conn, what string) {
	if _, err := fmt.Fprint(conn, what); err != nil {
		panic(err)
	}
}

// next is a number of the store, as a letter.
func next(conn net.Conn) string {
	write(conn, "next\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "number "))
	if err != nil {
		panic(err)
	}
	return string(rune('a' + n))
}
