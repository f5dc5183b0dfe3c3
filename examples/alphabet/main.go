// Command alphabet is the client of the paper's first example (Leungwattanakit, Artho, Hagiya,
// Tanabe, Yamamoto: "Model Checking Distributed Systems by Combining Caching and Process
// Checkpointing", ASE 2011): each of several goroutines opens a connection, sends numbers and
// gets letters of the alphabet back.
//
// The client is correct with a server that answers with small letters as well as with one that
// takes small or capital letters at random. With the second, checking it shows that all the
// answers an execution sees come from one consistent history of the server, although the server
// is taken back and would answer otherwise the next time. With -history, of client and server,
// the client sees that for itself: each answer repeats all that came before it, on any
// connection.
//
// With -random it asks for letters at random: then it is the client that is nondeterministic, as
// a peer of the server.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` of the server")
	connections := flag.Int("connections", 2, "`number` of connections open at the same time")
	requests := flag.Int("requests", 2, "`number` of letters asked for on each connection")
	history := flag.Bool("history", false, "check that all answers belong to one history of the server")
	random := flag.Bool("random", false, "ask for letters at random")
	flag.Parse()
	if *connections < 1 || *connections > 100 || *requests < 1 || *requests > 1000 {
		fmt.Fprintln(os.Stderr, "alphabet: want 1 to 100 connections and 1 to 1000 requests on each")
		os.Exit(2)
	}
	numbers := inOrder
	if *random {
		numbers = atRandom
	}
	if err := run(*addr, *connections, *requests, numbers, *history); err != nil {
		fmt.Fprintln(os.Stderr, "alphabet:", err)
		os.Exit(1)
	}
}

// run asks on all connections at the same time and prints the letters that came, a line for each.
func run(addr string, connections, requests int, numbers func(i int) (int, error), history bool) error {
	words := make([][]string, connections)
	failures := make([]error, connections)
	var clients sync.WaitGroup
	for i := range connections {
		clients.Go(func() {
			words[i], failures[i] = spell(addr, i*requests, requests, numbers)
		})
	}
	clients.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if history {
		return oneHistory(slices.Concat(words...))
	}
	for i, letters := range words {
		fmt.Printf("connection %d: %s\n", i, strings.Join(letters, ""))
	}
	return nil
}

// oneHistory checks that each answer, a letter and all letters up to it, continues the ones before.
func oneHistory(answers []string) error {
	slices.SortFunc(answers, func(a, b string) int { return len(a) - len(b) })
	so := ""
	for _, answer := range answers {
		letter, letters, _ := strings.Cut(answer, " ")
		if letters != so+letter {
			return fmt.Errorf("the server answered %q after it had answered %q: these are two histories",
				letters, so)
		}
		so = letters
	}
	fmt.Println("one history:", so)
	return nil
}

// inOrder is the number of the i-th letter that is asked for, if they are in the order of the
// alphabet: 0 is a, after z follows a.
func inOrder(i int) (int, error) { return i % len(alphabet), nil }

// atRandom is the number of the i-th letter that is asked for, if they are in no order. The
// kernel is asked each time, so that a process that is taken back asks for other letters.
func atRandom(int) (int, error) {
	urandom, err := os.Open("/dev/urandom")
	if err != nil {
		return 0, err
	}
	defer urandom.Close()
	var toss [2]byte
	if _, err := io.ReadFull(urandom, toss[:]); err != nil {
		return 0, err
	}
	return int(binary.NativeEndian.Uint16(toss[:])) % len(alphabet), nil
}

// spell asks over a new connection for n letters in a row, from the first-th on, and returns the
// answers.
func spell(addr string, first, n int, numbers func(i int) (int, error)) (letters []string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	answers := bufio.NewReader(conn)
	for i := range n {
		number, err := numbers(first + i)
		if err != nil {
			return nil, err
		}
		letter, err := ask(conn, answers, number)
		if err != nil {
			return nil, fmt.Errorf("letter number %d: %w", number, err)
		}
		letters = append(letters, letter)
	}
	return letters, nil
}

// ask sends one number, as a line of text, and checks the line that comes back: the letter with
// this number, small or capital, and, if the server repeats its history, a space and that.
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
	answer := strings.TrimSuffix(line, "\n")
	letter, _, _ := strings.Cut(answer, " ")
	if want := alphabet[number : number+1]; strings.ToLower(letter) != want {
		return "", fmt.Errorf("got %q, want %q, small or capital", letter, want)
	}
	return answer, nil
}
