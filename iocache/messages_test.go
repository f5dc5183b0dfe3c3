package iocache

import (
	"encoding/binary"
	"testing"
)

// framed is a message as connections that keep bounds carry it: its length goes before it.
func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// TestBoundsOfMessages: of a stream it does not matter how it was cut into writes; where each
// message has its length before it, "ab" is not "a" and then "b", whichever of them the group was
// asked first.
func TestBoundsOfMessages(t *testing.T) {
	for name, whole := range map[string]bool{"whole first": true, "cut first": false} {
		t.Run(name, func(t *testing.T) {
			c := New(Limits{})
			at, err := c.Record(Root, Input{Kind: Connect, Addr: "udp 127.0.0.1:53"}, Reaction{})
			if err != nil {
				t.Fatal(err)
			}
			messages := [][]string{{"ab"}, {"a", "b"}}
			if !whole {
				messages[0], messages[1] = messages[1], messages[0]
			}
			for _, list := range messages {
				cursor := at
				for _, text := range list {
					in := Input{Kind: Send, Data: framed(text)}
					if _, served, rest, hit, _ := c.Lookup(cursor, in); hit || !served.Empty() ||
						len(rest.Data) != len(in.Data) {
						t.Fatalf("%q: the group is to be asked for all of it, and not for %v", text, rest)
					}
					answer := Reaction{Deliveries: []Delivery{{Data: framed("got " + text)}}}
					if cursor, err = c.Record(cursor, in, answer); err != nil {
						t.Fatalf("%q: %v", text, err)
					}
				}
			}
			for _, list := range messages {
				cursor := at
				for _, text := range list {
					next, served, _, hit, _ := c.Lookup(cursor, Input{Kind: Send, Data: framed(text)})
					if !hit || string(served.Deliveries[0].Data) != string(framed("got "+text)) {
						t.Errorf("%q: %v, hit %v", text, served, hit)
					}
					cursor = next
				}
			}
		})
	}
}
