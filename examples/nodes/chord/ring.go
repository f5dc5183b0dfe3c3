package main

import "fmt"

// member is a node of the ring, as others know it.
type member struct {
	id      int
	address string
}

// none stands for a member where there is none.
var none = member{address: "-"}

// String is the form in which a member is sent.
func (m member) String() string { return fmt.Sprint(m.id, " ", m.address) }

// parse is the inverse of String.
func parse(text string) (m member, err error) {
	_, err = fmt.Sscan(text, &m.id, &m.address)
	return m, err
}

// between says whether who goes from a to b around the ring meets m on the way. From a node to
// itself, these are all others.
func between(a, m, b member) bool {
	switch {
	case m == none:
		return false
	case a.id < b.id:
		return a.id < m.id && m.id < b.id
	}
	return a.id < m.id || m.id < b.id
}

// answer answers a request of another node, or of this one, with a member.
func (n *node) answer(request string) member {
	var kind string
	var from member
	if _, err := fmt.Sscan(request, &kind, &from.id, &from.address); err != nil {
		return none
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch kind {
	case "predecessor":
		return n.predecessor
	case "notify":
		return n.notified(from)
	case "stabilise":
		n.stabiliseAt(n.self)
	}
	return n.successor
}

// notified takes a node for the predecessor if it is nearer than the one that there was. That one
// has another successor now, and is told so: it need not ask again and again.
func (n *node) notified(m member) member {
	old := n.predecessor
	if old != none && !between(old, m, n.self) {
		return old
	}
	if n.fault == "steps" { // another node may be taken between the look and the change
		n.mu.Unlock()
		n.mu.Lock()
	}
	n.predecessor = m
	if old != none {
		n.stabiliseAt(old)
	} else if n.successor == n.self {
		n.stabiliseAt(n.self)
	}
	return m
}

// stabiliseAt has the stabiliser see to it that a node stabilises: this one, or another one.
func (n *node) stabiliseAt(m member) {
	n.todo = append(n.todo, m)
	select {
	case n.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// setSuccessor changes the successor. Only the stabiliser does so, so it may read it without the
// mutex.
func (n *node) setSuccessor(m member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.successor = m
}
