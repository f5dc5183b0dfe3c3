package iocache

import (
	"fmt"
	"testing"
)

// TestEqualOnesAreShared: the same requests with the same answers, in every order, take hardly more
// than the nodes; with answers that all differ, each takes its own.
func TestEqualOnesAreShared(t *testing.T) {
	const connections, size = 6, 1000
	grow := func(answer func(n int) Reaction) *Cache {
		c, n := New(Limits{}), 0
		var record func(cur NodeID, left []int)
		record = func(cur NodeID, left []int) {
			for i, conn := range left {
				n++
				next, err := c.Record(cur, Input{Kind: Send, Conn: conn,
					Data: fmt.Appendf(nil, "request %d", conn)}, answer(n*connections+conn))
				if err != nil {
					t.Fatal(err)
				}
				rest := append([]int(nil), left[:i]...)
				record(next, append(rest, left[i+1:]...))
			}
		}
		cur, all := Root, []int{}
		for i := range connections {
			var err error
			if cur, err = c.Record(cur, connect(i), Reaction{}); err != nil {
				t.Fatal(err)
			}
			all = append(all, i)
		}
		record(cur, all)
		return c
	}
	long := func(n int) Reaction {
		return Reaction{Deliveries: []Delivery{{Conn: n % connections,
			Data: fmt.Appendf(nil, "%*d", size, n)}}}
	}
	alike, distinct := grow(func(n int) Reaction { return long(n % connections) }), grow(long)
	nodes := int64(alike.Stats().Nodes)
	if nodes < 1900 || distinct.Stats().Nodes != int(nodes) {
		t.Fatalf("%d and %d nodes", nodes, distinct.Stats().Nodes)
	}
	if extra := alike.Stats().Bytes - nodes*nodeBytes; extra > 2*connections*size {
		t.Errorf("%d bytes besides the nodes, for %d different answers of %d bytes", extra, connections, size)
	}
	if extra := distinct.Stats().Bytes - nodes*nodeBytes; extra < (nodes-20)*size {
		t.Errorf("%d bytes besides %d nodes, for different answers of %d bytes", extra, nodes, size)
	}
}

// TestSharedAnswerIsCut: an answer that two places have is replaced at one of them, and is at the
// other one what it was.
func TestSharedAnswerIsCut(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("ab"), send("ab")},
		[]Reaction{{}, says("AB"), says("AB")})
	before := c.Stats().Bytes
	if _, err := c.Record(cursors[1], send("a"), says("A")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at     NodeID
		in     string
		answer string
	}{{cursors[1], "a", "A"}, {cursors[2], "ab", "AB"}} {
		if _, served, _, hit, _ := c.Lookup(step.at, send(step.in)); !hit ||
			!served.Equal(says(step.answer)) {
			t.Errorf("%q is answered with %v, hit %v", step.in, served, hit)
		}
	}
	if _, err := c.Record(cursors[2], send("a"), says("A")); err != nil { // the last that had it
		t.Fatal(err)
	}
	if len(c.free) != 1 {
		t.Errorf("%d answers are free, want that which no place has", len(c.free))
	}
	more := 2*nodeBytes + 2*labelBytes + answerBytes // of "A" and "B" for "AB", but for their bytes
	if after := c.Stats().Bytes; after > before+more+100 {
		t.Errorf("%d bytes, and %d before", after, before)
	}
}
