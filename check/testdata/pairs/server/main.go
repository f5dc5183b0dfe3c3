// Command server is the other half of a generated pair: server SEED [shared]. What it answers to a line follows from
// the seed and from all lines before it: on the same connection, or on any if it is shared. It answers with a line,
// in one piece or in two, now and then with two lines, and now and then by ending the connection.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
)

func main() {
	runtime.GOMAXPROCS(1) // few threads make a small checkpoint
	seed, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:7000")
	if err != nil {
		panic(err)
	}
	shared := &history{state: uint32(seed)}
	for {
		conn, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		h := shared
		if len(os.Args) < 3 {
			h = &history{state: uint32(seed)}
		}
		go h.serve(conn)
	}
}

type history struct {
	mu    sync.Mutex
	state uint32
}

// after is the state after one more line.
func (h *history) after(line string) uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range []byte(line) {
		h.state = (h.state ^ uint32(b)) * 16777619
	}
	return h.state >> 8
}

func (h *history) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		state := h.after(lines.Text())
		switch state / 4 % 8 {
		case 0:
			return
		case 1:
			fmt.Fprintf(conn, "%d", state%4)
			fmt.Fprintln(conn)
		case 2:
			fmt.Fprintf(conn, "%d\n%d\n", state%4, state%3)
		default:
			fmt.Fprintln(conn, state%4)
		}
	}
}
