// Command seller sells one seat of a train. How many are sold is in a Redis server, which all
// sellers share. Each of them asks for that number, and then sets it: if another one does the same
// meanwhile, both sell the same seat. With -fixed Redis adds 1 itself.
//
// One seller listens, and the other one tells it which seat it has sold. Redis never knows that a
// seat is sold twice, and nor does a seller by itself.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
)

func main() {
	store := flag.String("redis", "127.0.0.1:6379", "`address` of the Redis server")
	listen := flag.String("listen", "", "`address` at which the other seller reports")
	report := flag.String("report", "", "`address` of the seller to report to")
	fixed := flag.Bool("fixed", false, "have Redis add")
	flag.Parse()
	if *report != "" {
		tell(*report, sell(*store, *fixed))
		return
	}
	other := make(chan int)
	go func() { other <- hear(*listen) }()
	mine := sell(*store, *fixed)
	if seat := <-other; seat == mine {
		panic(fmt.Sprintf("seat %d is sold twice", seat))
	}
}

// sell returns the number of a seat that is sold from now on.
func sell(store string, fixed bool) int {
	conn := dial(store)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	if fixed {
		return number(ask(conn, answers, "INCR seats"))
	}
	seat := 1
	if answer := ask(conn, answers, "GET seats"); answer != "$-1" {
		line, err := answers.ReadString('\n')
		if err != nil {
			panic(err)
		}
		seat += number(":" + strings.TrimSpace(line))
	}
	if answer := ask(conn, answers, fmt.Sprintf("SET seats %d", seat)); answer != "+OK" {
		panic(answer)
	}
	return seat
}

// ask gives Redis a command, and returns the first line of the answer.
func ask(conn net.Conn, answers *bufio.Reader, command string) string {
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		panic(err)
	}
	line, err := answers.ReadString('\n')
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(line)
}

// number reads a number as Redis writes it.
func number(answer string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(answer, ":"))
	if err != nil {
		panic(err)
	}
	return n
}

// tell reports a seat to the other seller, and hear is told of one.
func tell(address string, seat int) {
	conn := dial(address)
	defer conn.Close()
	if _, err := conn.Write([]byte{byte(seat)}); err != nil {
		panic(err)
	}
}

func hear(address string) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	seat := []byte{0}
	if _, err := conn.Read(seat); err != nil {
		panic(err)
	}
	return int(seat[0])
}

func dial(address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	return conn
}
