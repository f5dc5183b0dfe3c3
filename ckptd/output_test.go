package ckptd

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// talkative is a server that says on its standard output and error what it is asked.
const talkative = `
import os, socket, sys
print("ready", flush=True)
s = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
while True:
    c, _ = s.accept()
    for line in c.makefile():
        print(line, end="", file=sys.stderr if line.startswith("!") else sys.stdout, flush=True)
        c.sendall(b"ok")
`

// TestOutputOfEachPeer: it is known who wrote what, and a restore leaves nothing over from
// what it has ended.
func TestOutputOfEachPeer(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		python, err := peers.FindProfile("python")
		if err != nil {
			t.Fatal(err)
		}
		var both peers.Group
		for name, port := range map[string]int{"a": 8000, "b": 8001} {
			g, err := python.Expand(peers.Parameters{Name: name, Port: port, Program: []byte(talkative)})
			if err != nil {
				t.Fatal(err)
			}
			both = both.Merge(g)
		}
		g := start(t, c, both)
		expectWritten(t, g, map[string]string{"a": "ready\n", "b": "ready\n"})
		expectWritten(t, g, nil)
		talks := map[string]*conversation{}
		for i, p := range both.Peers {
			talk := &conversation{t: t, group: g, id: proxy.ID(i)}
			talk.obtain()
			if err := g.Proxy().Connect(testContext(t), talk.id,
				netip.MustParseAddrPort(p.Listen)); err != nil {
				t.Fatal(err)
			}
			talk.listen()
			talks[p.Name] = talk
		}
		talks["a"].ask("one\n")
		talks["a"].ask("!two\n")
		expectWritten(t, g, map[string]string{"a": "one\n!two\n"})
		image, err := g.Checkpoint(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			talks["a"].ask("left over\n")
			talks["b"].ask("left over\n")
			if err := g.Restore(testContext(t), image.ID); err != nil {
				t.Fatal(err)
			}
			expectWritten(t, g, nil)
			talks["a"].obtain()
			talks["b"].obtain()
			talks["b"].ask("!three\n")
			expectWritten(t, g, map[string]string{"b": "!three\n"})
		}
	})
}

func expectWritten(t *testing.T, g *Group, want map[string]string) {
	t.Helper()
	for i, text := range g.Written() {
		if name := g.processes[i].Name; text != want[name] {
			t.Errorf("%s wrote %q, not %q", name, text, want[name])
		}
	}
}

// TestOutputIsBounded: what nobody asks for does not pile up, and its end is what is kept.
func TestOutputIsBounded(t *testing.T) {
	g := start(t, spawn(t, Options{}), shell("seq 1000000; echo end"+forever))
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	text := g.Written()[0]
	if len(text) != tailSize || !strings.HasSuffix(text, "\n1000000\nend\n") {
		t.Errorf("%d bytes, the end of which is %q", len(text), text[max(len(text)-40, 0):])
	}
}

// TestOutputEnds: the reader of an output ends with those who write, and what they wrote at
// last is there.
func TestOutputEnds(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	unix.SetNonblock(pipe[0], true)
	o, err := readOutput(pipe[0])
	if err != nil {
		t.Fatal(err)
	}
	unix.Write(pipe[1], []byte("first"))
	if got := string(o.take()); got != "first" {
		t.Errorf("%q", got)
	}
	unix.Write(pipe[1], []byte("last"))
	unix.Close(pipe[1])
	<-o.ended
	if got := string(o.take()); got != "last" {
		t.Errorf("%q", got)
	}
	if got := o.take(); got != nil {
		t.Errorf("%q", got)
	}
}
