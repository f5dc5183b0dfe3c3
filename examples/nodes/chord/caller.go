package main

import (
	"bufio"
	"fmt"
	"net"
)

// caller is a goroutine that asks other nodes: the stabiliser, or who looks up something. It has
// connections of its own.
type caller struct {
	*node
	lines map[string]*line // by address
}

// line is a connection to another node.
type line struct {
	conn    net.Conn
	answers *bufio.Scanner
}

// find returns the first node at an identifier or behind it, beginning at some node of the ring.
func (n *caller) find(id int, at member) member {
	for {
		next := n.ask(at, "successor")
		if id == next.id || between(at, member{id: id}, next) {
			return next
		}
		at = next
	}
}

// stabilise looks for a nearer successor, and tells it of this node. In the paper, it does so once
// and is called at intervals, so an answer to the second request is not needed.
func (n *caller) stabilise() {
	p := n.ask(n.successor, "predecessor")
	for p != n.self {
		if between(n.self, p, n.successor) {
			n.setSuccessor(p)
		}
		if n.successor == n.self {
			return
		}
		p = n.ask(n.successor, "notify")
		if n.fault == "once" {
			return
		}
	}
}

// check walks along the ring. If it does not come to all nodes, in their order, it panics.
func (n *caller) check() {
	ring := []int{n.self.id}
	for last, m := n.self, n.successor; m != n.self; last, m = m, n.ask(m, "successor") {
		if ring = append(ring, m.id); !between(last, m, n.self) {
			panic(fmt.Sprint("the ring is not in order: ", ring))
		}
	}
	if len(ring) != n.size {
		panic(fmt.Sprintf("%d are in the ring, and %d nodes should be", ring, n.size))
	}
}

// ask sends a request to a node, and returns its answer. Nodes do not leave the ring, so a
// connection that fails is an error.
func (n *caller) ask(m member, request string) member {
	request = fmt.Sprintln(request, n.self)
	if m == n.self {
		return n.answer(request)
	}
	l := n.lines[m.address]
	if l == nil {
		conn, err := net.Dial("tcp", m.address)
		if err != nil {
			panic(err)
		}
		l = &line{conn, bufio.NewScanner(conn)}
		n.lines[m.address] = l
	}
	if _, err := l.conn.Write([]byte(request)); err != nil {
		panic(err)
	}
	if !l.answers.Scan() {
		panic(fmt.Sprint("no answer from ", m, ": ", l.answers.Err()))
	}
	answer, err := parse(l.answers.Text())
	if err != nil {
		panic(err)
	}
	return answer
}
