// Command alphabet is the client of the paper's first example (Leungwattanakit, Artho, Hagiya,
// Tanabe, Yamamoto: "Model Checking Distributed Systems by Combining Caching and Process
// Checkpointing", ASE 2011): each of several goroutines opens a connection, sends numbers and gets
// letters of the alphabet back.
//
// The client is correct with a server that answers with small letters as well as with one that takes
// small or capital letters at random. With the second, checking it shows that all the answers an
// execution sees come from one consistent history of the server, although the server is taken back
// and would answer otherwise the next time.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` of the server")
	connections := flag.Int("connections", 2, "`number` of connections open at the same time")
	requests := flag.Int("requests", 2, "`number` of letters asked for on each connection")
	flag.Parse()
	if *connections < 1 || *connections > 100 || *requests < 1 || *requests > 1000 {
		fmt.Fprintln(os.Stderr, "alphabet: want 1 to 100 connections and 1 to 1000 requests on each")
		os.Exit(2)
	}
	if err := run(*addr, *connections, *requests); err != nil {
		fmt.Fprintln(os.Stderr, "alphabet:", err)
		os.Exit(1)
	}
}

// run asks on all connections at the same time and prints the letters that came, a line for each.
func run(addr string, connections, requests int) error {
	words := make([]string, connections)
	failures := make([]error, connections)
	var clients sync.WaitGroup
	for i := range connections {
		clients.Go(func() {
			words[i], failures[i] = spell(addr, i*requests, requests)
		})
	}
	clients.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	for i, word := range words {
		fmt.Printf("connection %d: %s\n", i, word)
	}
	return nil
}

// spell asks over a new connection for n letters in a row, beginning with number first (0 is a,
// after z follows a), and returns them.
func spell(addr string, first, n int) (word string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	answers := bufio.NewReader(conn)
	for i := range n {
		number := (first + i) % len(alphabet)
		letter, err := ask(conn, answers, number)
		if err != nil {
			return "", fmt.Errorf("letter number %d: %w", number, err)
		}
		word += letter
	}
	return word, nil
}

// ask sends one number, as a line of text, and checks the line that comes back: the letter with this
// number, small or capital.
func ask(conn net.Conn, answers *bufio.Reader, number int) (string, error) {
	// Written by the program itself and not by fmt.Fprintf: goroutines are preempted where package
	// main writes, not where the standard library does.
	if _, err := conn.Write(fmt.Appendf(nil, "%d\n", number)); err != nil {
		return "", err
	}
	line, err := answers.ReadString('\n')
	if err != nil {
		return "", err
	}
	letter := strings.TrimSuffix(line, "\n")
	if want := alphabet[number : number+1]; strings.ToLower(letter) != want {
		return "", fmt.Errorf("got %q, want %q, small or capital", letter, want)
	}
	return letter, nil
}
