// Command server is the peer of the alphabet example: it answers a line with the number n with a line
// with the n-th letter of the alphabet (0 is a), and anything else with a line that begins with "error".
// With -random each letter is small or capital at random.
//
//	CGO_ENABLED=0 go build -o bin/alphabet-server ./examples/alphabet/server
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

// maxLine bounds what a client may send as one line, in bytes.
const maxLine = 64

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen at")
	random := flag.Bool("random", false, "answer with small or capital letters at random")
	flag.Parse()
	runtime.GOMAXPROCS(1) // few threads make a small checkpoint
	if err := serve(*addr, *random); err != nil {
		fmt.Fprintln(os.Stderr, "alphabet server:", err)
		os.Exit(1)
	}
}

func serve(addr string, random bool) error {
	var coins io.Reader
	if random {
		urandom, err := os.Open("/dev/urandom")
		if err != nil {
			return err
		}
		coins = urandom
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := answer(conn, coins); err != nil {
				fmt.Fprintf(os.Stderr, "alphabet server: %s: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// answer serves one connection until the client ends it. Coins may be nil: then all letters are small.
func answer(conn net.Conn, coins io.Reader) error {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxLine), maxLine)
	for lines.Scan() {
		reply, err := letter(lines.Text(), coins)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(conn, reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// letter is the answer to one line. Its error says that there is no randomness to be had; what is
// wrong with the line goes to the client.
func letter(line string, coins io.Reader) (string, error) {
	number, err := strconv.Atoi(line)
	if err != nil || number < 0 || number >= len(alphabet) {
		return fmt.Sprintf("error: %q is not a number from 0 to %d", line, len(alphabet)-1), nil
	}
	small := alphabet[number : number+1]
	if coins == nil {
		return small, nil
	}
	var coin [1]byte
	if _, err := io.ReadFull(coins, coin[:]); err != nil {
		return "", fmt.Errorf("toss a coin: %w", err)
	}
	if coin[0]&1 == 1 {
		return strings.ToUpper(small), nil
	}
	return small, nil
}
