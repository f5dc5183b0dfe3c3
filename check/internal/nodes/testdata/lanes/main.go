// Command lanes is a chain of nodes with several connections from each to the next one, and several
// goroutines in each:
//
//	lanes node PLACE TO-IT FROM-IT UNWANTED GOROUTINES...
//	lanes together NODES ARGUMENTS...
//
// The node at a place accepts and opens so many connections, and runs the goroutines. Each of these
// does some steps: s0 and r0 send and receive a byte on connection 0 of the node, v uses a variable
// of all goroutines of the node. Nothing is sent that is not received. A sum of all must not be
// UNWANTED. With "together" all nodes are goroutines of one program, and what is sent goes through
// channels, one for each byte.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

func main() {
	if os.Args[1] == "node" {
		n := read(os.Args[2:])
		n.connect()
		n.run()
		return
	}
	nodes, _ := strconv.Atoi(os.Args[2])
	var all []*node
	for i := range nodes {
		each := (len(os.Args) - 3) / nodes
		n := read(os.Args[3+i*each : 3+(i+1)*each])
		for k := range n.to {
			before := all[i-1]
			w := before.wires[before.to+k].(*channels)
			n.wires = append(n.wires, &channels{in: w.out, out: w.in})
		}
		for range n.from {
			n.wires = append(n.wires, &channels{in: fresh(), out: fresh()})
		}
		all = append(all, n)
	}
	var done sync.WaitGroup
	for _, n := range all {
		done.Go(n.run)
	}
	done.Wait()
}

type node struct {
	place, to, from, unwanted int
	scripts                   []string
	wires                     []wire
}

// wire is a connection: each end is read by one goroutine, and written by one.
type wire interface {
	send(byte)
	receive() byte
}

func read(args []string) *node {
	n := &node{}
	for i, field := range []*int{&n.place, &n.to, &n.from, &n.unwanted} {
		*field, _ = strconv.Atoi(args[i])
	}
	n.scripts = args[4:]
	return n
}

// connect makes the connections, one after the other: each is used before the next one.
func (n *node) connect() {
	address := func(place int) string { return fmt.Sprint("127.0.0.1:", 7500+place) }
	var l net.Listener
	var err error
	if n.to > 0 {
		if l, err = net.Listen("tcp", address(n.place)); err != nil {
			panic(err)
		}
	}
	for range n.to {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		n.wires = append(n.wires, tcp{conn})
		tcp{conn}.send('!')
	}
	for range n.from {
		conn, err := net.Dial("tcp", address(n.place+1))
		if err != nil {
			panic(err)
		}
		n.wires = append(n.wires, tcp{conn})
		tcp{conn}.receive()
	}
}

func (n *node) run() {
	var mu sync.Mutex
	shared := n.place
	registers := make([]int, len(n.scripts))
	var all sync.WaitGroup
	for g, script := range n.scripts {
		all.Go(func() {
			r := g
			for _, step := range strings.Fields(script) {
				k, _ := strconv.Atoi(step[1:])
				switch step[0] {
				case 's':
					n.wires[k].send(byte(r % 3))
				case 'r':
					r = 2*r + int(n.wires[k].receive())
				case 'v':
					mu.Lock()
					shared = (3*shared + r + 1) % 7
					r = shared
					mu.Unlock()
				}
			}
			registers[g] = r
		})
	}
	all.Wait()
	sum := 0
	for g, r := range registers {
		sum = (5*sum + r + g) % 7
	}
	if sum == n.unwanted {
		panic("unwanted")
	}
}

type tcp struct{ net.Conn }

func (t tcp) send(b byte) {
	if _, err := t.Write([]byte{b}); err != nil {
		panic(err)
	}
}

func (t tcp) receive() byte {
	b := make([]byte, 1)
	if _, err := t.Read(b); err != nil {
		panic(err)
	}
	return b[0]
}

type channels struct {
	in, out   []chan byte
	got, sent int
}

func fresh() (list []chan byte) {
	for range 8 {
		list = append(list, make(chan byte, 1))
	}
	return list
}

func (c *channels) send(b byte) {
	c.out[c.sent] <- b
	c.sent++
}

func (c *channels) receive() byte {
	b := <-c.in[c.got]
	c.got++
	return b
}
