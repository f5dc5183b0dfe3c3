package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestReplies: the n-th letter is the answer to n, and what is no number from 0 to 25 is refused in
// one line, which names it.
func TestReplies(t *testing.T) {
	s := &speller{}
	for n := range len(alphabet) {
		if got, err := s.reply(fmt.Sprint(n)); got != alphabet[n:n+1] || err != nil {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
	for _, line := range []string{"", "26", "-1", "a", "1.0", " 1", "\x00", "99999999999999999999"} {
		want := fmt.Sprintf("error: %q is not a number from 0 to 25", line)
		if got, err := s.reply(line); got != want || err != nil || strings.Contains(got, "\n") {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
}

// TestCoins: each letter takes one coin, odd ones make it a capital, and without coins the
// connection ends.
func TestCoins(t *testing.T) {
	s := &speller{coins: bytes.NewReader([]byte{0, 1, 2, 0xff})}
	var got []string
	for _, line := range []string{"0", "1", "no", "2", "3"} {
		reply, err := s.reply(line)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply[:1])
	}
	if want := "a B e c D"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := s.reply("0"); !errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "toss a coin: ") {
		t.Errorf("there is no coin left: %v", err)
	}
	s.coins = iotest.ErrReader(io.ErrClosedPipe)
	if _, err := s.reply("0"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

// TestHistory: an answer has all letters so far, of all connections, up to a bound.
func TestHistory(t *testing.T) {
	s := &speller{history: true}
	for _, test := range [][2]string{{"7", "h h"}, {"8", "i hi"}, {"26",
		`error: "26" is not a number from 0 to 25`},
		{"0", "a hia"}} {
		if got, err := s.reply(test[0]); got != test[1] || err != nil {
			t.Errorf("%s: %q, %v; want %q", test[0], got, err, test[1])
		}
	}
	s.letters = strings.Repeat("a", maxHistory)
	if _, err := s.reply("0"); err == nil || !strings.Contains(err.Error(), "more than 10000 letters") {
		t.Errorf("%v", err)
	}
}

// TestConnections: lines are answered one by one, and a line that is too long ends its connection.
func TestConnections(t *testing.T) {
	client, server := net.Pipe()
	ended := make(chan error)
	go func() { ended <- (&speller{}).answer(server) }()
	replies := bufio.NewReader(client)
	for line, want := range map[string]string{"0\n": "a\n", "25\r\n": "z\n"} {
		if _, err := io.WriteString(client, line); err != nil {
			t.Fatal(err)
		}
		if got, err := replies.ReadString('\n'); got != want || err != nil {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	client.SetDeadline(time.Now().Add(10 * time.Second))
	go io.WriteString(client, strings.Repeat("1", 2*maxLine)+"\n")
	if err := <-ended; !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("a long line: %v", err)
	}
	if _, err := replies.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
	client, server = net.Pipe()
	go func() { ended <- (&speller{}).answer(server) }()
	client.Close()
	if err := <-ended; err != nil {
		t.Errorf("a client that leaves: %v", err)
	}
}

// TestTakenAddress: a server that cannot listen says so.
func TestTakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := serve(taken.Addr().String(), false, false); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%v", err)
	}
}
