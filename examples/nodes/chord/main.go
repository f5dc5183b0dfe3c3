// Command chord is a node of a ring in order of identifiers (Stoica et al.: Chord, a scalable
// peer-to-peer lookup service for Internet applications, SIGCOMM 2001). The first node is a ring of
// itself, and others join it, at the same time if they like. There are no fingers, and nodes do not
// leave. With -fault it has a known mistake.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"sync"
	"time"
)

// quiet is how long nothing changes before the ring is checked.
const quiet = time.Second

// node is this node. Its goroutines are the servers of connections, the stabiliser, and one that
// looks up identifiers.
type node struct {
	self  member
	size  int // how many nodes the whole ring has; 0: unknown
	finds int // how often another node is looked up
	fault string
	wake  chan struct{} // has an element if there is something to do

	mu                     sync.Mutex
	successor, predecessor member
	todo                   []member // who has to stabilise
}

func main() {
	n := &node{wake: make(chan struct{}, 1), predecessor: none}
	flag.IntVar(&n.self.id, "id", 0, "the `identifier` of this node")
	flag.StringVar(&n.self.address, "listen", "127.0.0.1:7710", "the `address` of this node")
	join := flag.String("join", "", "the `identifier and address` of a node of the ring; empty: none")
	flag.IntVar(&n.size, "size", 0, "when all is quiet, check that the ring has this `number` of nodes")
	flag.IntVar(&n.finds, "finds", 0, "look up another node this `number` of times")
	flag.StringVar(&n.fault, "fault", "", "a `mistake`: steps (a predecessor is looked at and changed in "+
		"two steps), once (a node stabilises once, even if its successor has a nearer predecessor)")
	flag.Parse()
	l, err := net.Listen("tcp", n.self.address)
	if err != nil {
		panic(err)
	}
	n.successor = n.self
	other := n.self
	if *join != "" {
		if other, err = parse(*join); err != nil {
			panic(err)
		}
	}
	go n.run(other)
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go n.serve(conn)
	}
}

// serve answers the requests of a connection.
func (n *node) serve(conn net.Conn) {
	defer conn.Close()
	for requests := bufio.NewScanner(conn); requests.Scan(); {
		if _, err := fmt.Fprintln(conn, n.answer(requests.Text())); err != nil {
			return
		}
	}
}

// run is the stabiliser. It joins the ring of another node, and then stabilises whenever something
// has changed.
func (n *node) run(other member) {
	c := &caller{n, map[string]*line{}}
	if other != n.self {
		n.setSuccessor(c.find(n.self.id, other))
		c.stabilise()
	}
	go n.lookUp(other)
	for {
		var checked <-chan time.Time
		if n.size > 0 {
			checked = time.After(quiet)
		}
		select {
		case <-n.wake:
			c.tidy()
		case <-checked:
			c.check()
			n.size = 0
		}
	}
}

// lookUp looks up another node again and again. That finds it whatever happens: it was there before
// this one.
func (n *node) lookUp(other member) {
	c := &caller{n, map[string]*line{}}
	for range n.finds {
		if m := c.find(other.id, n.self); m != other {
			panic(fmt.Sprint("identifier ", other.id, " is at ", m))
		}
	}
}

// tidy has nodes stabilise for which something has changed.
func (n *caller) tidy() {
	n.mu.Lock()
	todo := n.todo
	n.todo = nil
	n.mu.Unlock()
	for _, m := range todo {
		if m == n.self {
			n.stabilise()
		} else {
			n.ask(m, "stabilise")
		}
	}
}
