// Command beside does what chance says with a store that is no node, and with another node. Numbers
// that the store gives are never given twice. It panics after some steps.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/tandem-mc/tandem"
)

const store, other = "127.0.0.1:6000", "127.0.0.1:7000"

func main() {
	name := os.Args[1]
	if name == "a" {
		go serve()
	}
	for range 2 {
		if err := visit(name); err != nil && !expected(err) {
			panic(err)
		}
	}
	if rand.IntN(4) == 0 {
		panic("enough")
	}
}

// expected says whether an error is one that comes of what the store and the nodes do.
func expected(err error) bool {
	var timeout net.Error
	return errors.Is(err, io.EOF) || errors.As(err, &timeout) ||
		strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "broken pipe") ||
		strings.Contains(err.Error(), "refused")
}

// visit makes some requests over one connection.
func visit(name string) error {
	if rand.IntN(8) == 0 {
		if conn, err := net.Dial("tcp", "127.0.0.1:6001"); err == nil {
			conn.Close()
			panic("nobody listens there")
		}
	}
	conn, err := net.DialTimeout("tcp", store, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range 3 {
		if err := request(name, conn, answers); err != nil {
			return err
		}
	}
	if name == "b" && rand.IntN(2) == 0 {
		return greet()
	}
	return nil
}

// request makes one, and reads its answer, or some of it, or not.
func request(name string, conn net.Conn, answers *bufio.Reader) error {
	what := []string{"next", "next", "after 700", "after 1000", "watch", "bye", "abort", "wait"}[rand.IntN(8)]
	if what == "wait" {
		time.Sleep(time.Second)
		return nil
	}
	if _, err := fmt.Fprintln(conn, what); err != nil {
		return err
	}
	if rand.IntN(6) == 0 {
		return nil // it may be reset, since this is not read
	}
	if what == "watch" || rand.IntN(3) == 0 {
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
	}
	line, err := answers.ReadString('\n')
	if number, is := strings.CutPrefix(strings.TrimSpace(line), "number "); is {
		tandem.Publish("number "+number, name)
	}
	return err
}

// serve answers one byte to each client.
func serve() {
	l, err := net.Listen("tcp", other)
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		if _, err := conn.Write([]byte{1}); err != nil && !expected(err) {
			panic(err)
		}
		conn.Close()
	}
}

// greet waits for that byte.
func greet() error {
	conn, err := net.DialTimeout("tcp", other, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.ReadFull(conn, []byte{0})
	return err
}
