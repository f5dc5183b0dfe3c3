// Command tickets speaks as much of the protocol of Redis as it takes to hand out numbers: INCR
// NAME answers with a number that nobody else has. The map is under a mutex, but the number is
// read in one critical section and stored in another: two clients at a time can be told the
// same. -atomic makes it one.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/tandem-mc/tandem"
)

// counters hands out numbers.
type counters struct {
	mu     sync.Mutex
	next   map[string]int
	given  map[string]bool // what was handed out
	atomic bool
}

func (c *counters) get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next[name]
}

func (c *counters) set(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next[name] = n
	ticket := fmt.Sprint(name, n)
	tandem.Assert(!c.given[ticket], "two clients are given ", ticket)
	c.given[ticket] = true
}

func (c *counters) increment(name string) int {
	if c.atomic {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.next[name]++
		return c.next[name]
	}
	n := c.get(name) + 1
	c.set(name, n)
	return n
}

// answer answers the commands of one client.
func (c *counters) answer(conn net.Conn) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		reply := fmt.Sprintf("-ERR there is no command %q\r\n", words)
		if len(words) == 2 && strings.EqualFold(words[0], "incr") {
			reply = fmt.Sprintf(":%d\r\n", c.increment(words[1]))
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

const maxWords, maxWord = 16, 1024

// readCommand reads an array of strings: *2, $4, INCR, $1, n, each on a line.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readNumber(r, '*', maxWords)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readNumber(r, '$', maxWord)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readNumber(r *bufio.Reader, kind byte, limit int) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || line[0] != kind || n < 0 || n > limit {
		return 0, errors.New("this is not the protocol of Redis")
	}
	return n, nil
}

func main() {
	addr := flag.String("addr", "127.0.0.1:6379", "`address` to listen at")
	atomic := flag.Bool("atomic", false, "increment in one critical section")
	flag.Parse()
	c := &counters{next: map[string]int{}, given: map[string]bool{}, atomic: *atomic}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go c.answer(conn)
	}
}
