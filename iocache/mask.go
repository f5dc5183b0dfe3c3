package iocache

import (
	"bytes"
	"regexp"
	"slices"
)

// Mask is a rule for what may differ between two answers to the same request, such as the time in a
// header: what the pattern matches is as good as anything else that it matches. The cache goes on
// to give the answer that it had first.
type Mask struct {
	Addr    string // of the connections that the rule is for, as in Connect; empty: all
	Pattern *regexp.Regexp
}

// same reports whether two answers to a request agree, but for what may differ. The node at has
// one of them, or is where the request was made. In both answers what a mask matches is replaced
// by a zero byte before they are compared. As that byte may be in an answer too, the numbers of
// replacements have to be equal.
func (t *placeTree) same(at NodeID, want, got Reaction) bool {
	want.Time, got.Time = Time{}, Time{}
	if want.Equal(got) {
		return true
	}
	if len(t.masks) == 0 {
		return false
	}
	blanks := [2]int{} // what is in their place may also be in the answers
	blank := func(i int) func([]byte) []byte {
		return func([]byte) []byte { blanks[i]++; return []byte{0} }
	}
	return t.masked(at, want, blank(0)).Equal(t.masked(at, got, blank(1))) && blanks[0] == blanks[1]
}

// unmasked is a reaction with what may differ as it is in another one, of which it may be the
// continuation: where the lengths are the same.
func (t *placeTree) unmasked(at NodeID, r, as Reaction) Reaction {
	if len(t.masks) == 0 {
		return r
	}
	fill := func(match []byte) []byte { return make([]byte, len(match)) }
	blank, blankAs := t.masked(at, r, fill), t.masked(at, as, fill)
	r = r.Clone()
	for i := range r.Deliveries {
		j := slices.IndexFunc(as.Deliveries, func(d Delivery) bool { return d.Conn == r.Deliveries[i].Conn })
		if j >= 0 && bytes.HasPrefix(blank.Deliveries[i].Data, blankAs.Deliveries[j].Data) {
			copy(r.Deliveries[i].Data, as.Deliveries[j].Data)
		}
	}
	return r
}

// masked is a copy of a reaction with something else for what may differ.
func (t *placeTree) masked(at NodeID, r Reaction, replace func(match []byte) []byte) Reaction {
	r = r.Clone()
	for i := range r.Deliveries {
		d := &r.Deliveries[i]
		addr := t.addrOf(at, d.Conn)
		for _, m := range t.masks {
			if m.Addr == "" || m.Addr == addr {
				d.Data = m.Pattern.ReplaceAllFunc(d.Data, replace)
			}
		}
	}
	return r
}

// addrOf is where a connection leads to that was opened on the way to n; empty if there is none.
func (t *placeTree) addrOf(n NodeID, conn int) string {
	for ; !t.isTop(n); n = t.nodes[n].parent {
		if d := &t.nodes[n]; d.kind == Connect && int(d.conn) == conn {
			return d.label
		}
	}
	return ""
}
