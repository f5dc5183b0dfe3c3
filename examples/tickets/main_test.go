package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// command is a list of words as a client of Redis sends it.
func command(words ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return text
}

// TestCommandsComeBack: whatever words a client sends, the server reads the same, one command after
// the other.
func TestCommandsComeBack(t *testing.T) {
	word := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })
	rapid.Check(t, func(t *rapid.T) {
		commands := rapid.SliceOfN(rapid.SliceOfN(word, 0, maxWords), 1, 4).Draw(t, "commands")
		text := ""
		for _, words := range commands {
			text += command(words...)
		}
		r := bufio.NewReader(strings.NewReader(text))
		for _, want := range commands {
			if got, err := readCommand(r); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
		}
		if _, err := readCommand(r); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last command: %v", err)
		}
	})
}

// TestBadCommands: what is not the protocol, or more than the server takes, is refused.
func TestBadCommands(t *testing.T) {
	long := strings.Repeat("x", maxWord+1)
	for _, text := range []string{
		"INCR n\r\n", "\r\n", "\n", "*\r\n", "*-1\r\n", fmt.Sprintf("*%d\r\n", maxWords+1), "*1\r\nINCR\r\n",
		"*1\r\n$x\r\n", "$1\r\na\r\n", command(long), "*1\r\n$4\r\nINC",
	} {
		if words, err := readCommand(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%.20q is read as %q", text, words)
		}
	}
}

// TestTickets: over connections, one after the other, numbers go up by one, each name by itself;
// and what is no command is an error that goes on.
func TestTickets(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		c := &counters{next: map[string]int{}, given: map[string]bool{}, atomic: atomic}
		client, server := net.Pipe()
		ended := make(chan struct{})
		go func() { c.answer(server); close(ended) }()
		replies := bufio.NewReader(client)
		for _, test := range [][2]string{
			{command("INCR", "a"), ":1\r\n"}, {command("incr", "a"), ":2\r\n"}, {command("INCR", "b"),
				":1\r\n"},
			{command("GET", "a"), "-ERR there is no command [\"GET\" \"a\"]\r\n"}, {command("INCR", "a"),
				":3\r\n"},
		} {
			if _, err := io.WriteString(client, test[0]); err != nil {
				t.Fatal(err)
			}
			if got, err := replies.ReadString('\n'); got != test[1] || err != nil {
				t.Errorf("%q: %q, %v; want %q", test[0], got, err, test[1])
			}
		}
		client.Close()
		<-ended
	}
}

// TestAtomicTickets: in one critical section, no number is given twice, however many ask at a time.
func TestAtomicTickets(t *testing.T) {
	const clients, each = 8, 50
	c := &counters{next: map[string]int{}, given: map[string]bool{}, atomic: true}
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[int]bool{}
	for range clients {
		all.Go(func() {
			for range each {
				n := c.increment("a")
				mu.Lock()
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != clients*each || !seen[1] || !seen[clients*each] {
		t.Errorf("%d numbers of %d", len(seen), clients*each)
	}
}
