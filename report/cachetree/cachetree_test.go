package cachetree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
	"github.com/tandem-mc/tandem/report/internal/wire"
)

// TestDescribe: in each branch messages are what they are after those that lead there. What is said
// of a place has a bound.
func TestDescribe(t *testing.T) {
	request, response := "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
	tree := &report.CacheTree{Places: []report.CachePlace{{Parent: -1}, {Parent: 0}, {Parent: 1},
		{Parent: 2}, {Parent: 1}, {Parent: 0}}}
	Describe(tree, [][]report.Message{
		{{ToPeer: true, About: "peers", Event: "start"}},
		{reporttest.ToPeer(request + "Host: x\r\n")},
		{reporttest.ToPeer("\r\n"), reporttest.FromPeer(response + "nine")},
		{{ToPeer: true, Event: "close"}, reporttest.FromPeer(" byte"), {Event: "end of stream"}},
		{reporttest.ToPeer("\r\n\r\n" + strings.Repeat(request+"\r\n", 7))},
		{reporttest.ToPeer("\r\n"), {About: "redis", Event: "it ended"}},
	})
	got := ""
	for _, p := range tree.Places {
		got += fmt.Sprintf("%q %q\n", p.Sent, p.Got)
	}
	want := `["peers: start"] []
["part of a message, 25 bytes"] []
["GET / HTTP/1.1 (head of 27 bytes)"] ["HTTP/1.1 200 OK (head of 38 bytes)" "body, 4 bytes, 5 to come"]
["close"] ["body, 5 bytes" "end of stream"]
["GET / HTTP/1.1 (head of 27 bytes)" "GET / HTTP/1.1 (head of 18 bytes)" ` +
		`"GET / HTTP/1.1 (head of 18 bytes)" "GET / HTTP/1.1 (head of 18 bytes)" "and 4 more lines"] []
["\"\\r\\n\", 2 bytes"] ["redis: it ended"]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDescribeAnyTree: each place has the words that it has if only the way there is told.
func TestDescribeAnyTree(t *testing.T) {
	parts := []string{"GET / ", "HTTP/1.1\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n",
		"hello", "HEAD / HTTP/1.1\r\n\r\n", "SSH-2.0-Go\r\n", reporttest.SSHPacket(20, 30),
		reporttest.SSHPacket(21, 1), "\x00\x00", "HTTP/1.1 101 Switching\r\n\r\n"}
	rapid.Check(t, func(t *rapid.T) {
		tree := &report.CacheTree{}
		var messages [][]report.Message
		for i := range rapid.IntRange(1, 25).Draw(t, "places") {
			tree.Places = append(tree.Places, report.CachePlace{
				Parent: rapid.IntRange(min(i, 1)-1, i-1).Draw(t, "parent")})
			var list []report.Message
			for range rapid.IntRange(0, 3).Draw(t, "messages") {
				list = append(list, report.Message{Conn: rapid.IntRange(0, 1).Draw(t, "connection"),
					ToPeer: rapid.Bool().Draw(t, "to peer"),
					Data:   []byte(rapid.SampledFrom(parts).Draw(t, "data"))})
			}
			messages = append(messages, list)
		}
		messages[0] = append(messages[0], report.Message{Conn: 1, Event: "refused"}) // there are several
		Describe(tree, messages)
		for i, p := range tree.Places {
			var way []int
			for n := tree.Places[i].Parent; n >= 0; n = tree.Places[n].Parent {
				way = append([]int{n}, way...)
			}
			streams := wire.Decoders{}
			for _, n := range way {
				describe(streams, messages[n], true)
			}
			sent, got := describe(streams, messages[i], true)
			if diff := cmp.Diff([][]string{sent, got}, [][]string{p.Sent, p.Got}); diff != "" {
				t.Fatalf("place %d (-alone +in the tree):\n%s", i, diff)
			}
		}
	})
}
