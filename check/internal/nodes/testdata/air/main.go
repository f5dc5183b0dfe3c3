// Command air is a node that sends datagrams as a script says.
//
//	air CHECK STEPS...
//
//	b    open a socket at port 7700            oX   open one that is connected to that of node X
//	c    close it                              sN   sleep for N milliseconds
//	wXL  send the letter L to node X           WL   send it to whom the socket is connected to
//	pL   send it to whoever has sent the last datagram that was read, if there was one
//	rN   read within N milliseconds
//	z    connect to where nobody is; as the last step, it is done in any case
//
// What a node has got is, for each datagram that it has read, the name of the node that it is from
// and a letter; t for what was too late, and f for what was refused. CHECK is in:A,B or not:A; what
// it has got must be so.
package main

import (
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	got := follow(os.Args[2:])
	how, list, _ := strings.Cut(os.Args[1], ":")
	if slices.Contains(strings.Split(list, ","), got) != (how == "in") {
		tandem.Assert(false, "got="+got+".")
	}
}

// node is what a script works with.
type node struct {
	conn *net.UDPConn
	last net.Addr
	got  string
}

// follow does the steps, and returns what was got.
func follow(steps []string) string {
	var n node
	for _, step := range steps {
		n.do(step[0], step[1:])
	}
	return n.got
}

// do takes a step.
func (n *node) do(what byte, with string) {
	number, _ := strconv.Atoi(with)
	long := time.Duration(number) * time.Millisecond
	switch what {
	case 'b':
		n.conn = must(net.ListenUDP("udp", &net.UDPAddr{Port: 7700}))
	case 'o':
		n.conn = must(net.DialUDP("udp", nil, addressOf(with)))
	case 'c':
		n.conn.Close()
	case 's':
		time.Sleep(long)
	case 'w':
		n.note(n.conn.WriteTo([]byte(with[1:]), addressOf(with[:1])))
	case 'W':
		n.note(n.conn.Write([]byte(with)))
	case 'p':
		if n.last != nil {
			n.note(n.conn.WriteTo([]byte(with), n.last))
		}
	case 'r':
		n.read(long)
	case 'z':
		if _, err := net.Dial("tcp", "127.0.0.1:9"); !errors.Is(err, syscall.ECONNREFUSED) {
			panic(err)
		}
	}
}

// read reads a datagram.
func (n *node) read(limit time.Duration) {
	b := make([]byte, 9)
	n.conn.SetReadDeadline(time.Now().Add(limit))
	size, from, err := n.conn.ReadFrom(b)
	if n.note(size, err); err == nil {
		n.last = from
		n.got += name(from.(*net.UDPAddr).IP) + string(b[:size])
	}
}

// note notes what an operation came to that has failed.
func (n *node) note(_ int, err error) {
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		n.got += "t"
	case errors.Is(err, syscall.ECONNREFUSED):
		n.got += "f"
	default:
		panic(err)
	}
}

// addressOf is where a node has its socket, and name the node with an address.
func addressOf(node string) *net.UDPAddr {
	return must(net.ResolveUDPAddr("udp", node+":7700"))
}

func name(ip net.IP) string { return string('a' + ip.To4()[3] - 1) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
