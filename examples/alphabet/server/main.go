// Command server is the peer of the alphabet example: it answers a line with the number n with a
// line with the n-th letter of the alphabet (0 is a), and anything else with a line that begins
// with "error". With -random each letter is small or capital at random. With -history the letter
// is followed by a space and by all letters that the server has answered with so far, on any
// connection.
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
	"sync"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

// maxLine bounds what a client may send as one line, in bytes.
const maxLine = 64

// maxHistory bounds how many letters the server remembers.
const maxHistory = 10_000

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen at")
	random := flag.Bool("random", false, "answer with small or capital letters at random")
	history := flag.Bool("history", false, "repeat all letters so far in each answer")
	flag.Parse()
	runtime.GOMAXPROCS(1) // few threads make a small checkpoint
	// It serves until something goes wrong.
	err := serve(*addr, *random, *history)
	fmt.Fprintln(os.Stderr, "alphabet server:", err)
	os.Exit(1)
}

// speller knows the answers. It is shared by the connections.
type speller struct {
	coins   io.Reader // small or capital; nil: all letters are small
	history bool

	mu      sync.Mutex // tosses are one after the other
	letters string     // so far, if history is wanted
}

func serve(addr string, random, history bool) error {
	s := &speller{history: history}
	if random {
		urandom, err := os.Open("/dev/urandom")
		if err != nil {
			return err
		}
		s.coins = urandom
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
			if err := s.answer(conn); err != nil {
				fmt.Fprintf(os.Stderr, "alphabet server: %s: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// answer serves one connection until the client ends it.
func (s *speller) answer(conn net.Conn) error {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxLine), maxLine)
	for lines.Scan() {
		reply, err := s.reply(lines.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(conn, reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// reply is the answer to one line. Its error says that there is no randomness to be had, or too
// much history; what is wrong with the line goes to the client.
func (s *speller) reply(line string) (string, error) {
	number, err := strconv.Atoi(line)
	if err != nil || number < 0 || number >= len(alphabet) {
		return fmt.Sprintf("error: %q is not a number from 0 to %d", line, len(alphabet)-1), nil
	}
	letter := alphabet[number : number+1]
	if s.coins == nil && !s.history {
		return letter, nil // nothing is shared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coins != nil {
		var coin [1]byte
		if _, err := io.ReadFull(s.coins, coin[:]); err != nil {
			return "", fmt.Errorf("toss a coin: %w", err)
		}
		if coin[0]&1 == 1 {
			letter = strings.ToUpper(letter)
		}
	}
	if !s.history {
		return letter, nil
	}
	if len(s.letters) == maxHistory {
		return "", fmt.Errorf("more than %d letters to remember", maxHistory)
	}
	s.letters += letter
	return letter + " " + s.letters, nil
}
