// Command server answers each line "wMS TEXT" with TEXT, MS milliseconds after it has come, in one of several ways of waiting. It
// never answers one that begins with x.
package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7000")
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go serve(c)
	}
}

func serve(c net.Conn) {
	for lines := bufio.NewScanner(c); lines.Scan(); {
		request, text, _ := strings.Cut(lines.Text(), " ")
		ms, err := strconv.Atoi(request[1:])
		if err != nil || request[0] == 'x' {
			continue
		}
		d := time.Duration(ms) * time.Millisecond
		switch request[0] {
		case 'n', 'c':
			time.Sleep(d)
		case 'p', 's', 'e':
			<-time.After(d)
		default:
			time.AfterFunc(d, func() { fmt.Fprintln(c, text) })
			continue
		}
		fmt.Fprintln(c, text)
	}
}
