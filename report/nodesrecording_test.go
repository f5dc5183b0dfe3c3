package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
)

// exampleOfNodes has every kind of event, and every field.
func exampleOfNodes() *NodesRecording {
	node := func(name, listen string, later ...NodeLife) NodeRecording {
		return NodeRecording{NodeHeader{Name: name, Listen: listen, Draws: 5, Program: Program{
			Package: "./" + name, GoVersion: "go1.26.0", Build: "c0ffee"},
			Expectation: Expectation{Outcome: "panic", EventLog: "9f86d081"}}, []Chosen{{Goroutine: 1}},
			later}
	}
	return &NodesRecording{Directory: "/src", Violated: 1, Walk: true,
		Nodes: []NodeRecording{node("server", "127.0.0.1:1"),
			node("client", "", NodeLife{Draws: 7, Schedule: []Chosen{{Goroutine: 1}}}, NodeLife{})},
		Events: []NodeEvent{
			{Node: 1, Kind: "listen", Address: "127.0.0.1:1"},
			{Node: 2, Kind: "connect", Conn: "client#1", Address: "127.0.0.1:1", To: 1},
			{Node: 1, Kind: "accept", Conn: "client#1", From: 2},
			{Node: 2, Kind: "send", Conn: "client#1", Data: []byte{0, 0xff}, To: 1, Comes: 4},
			{Node: 2, Kind: "shutdown", Conn: "client#1", To: 1},
			{Node: 1, Kind: "receive", Conn: "client#1", Taken: 2, From: 4},
			{Node: 1, Kind: "receive", Conn: "client#1", End: true, From: 5},
			{Node: 1, Kind: "pass", Time: 1e9, Own: true}, {Node: 2, Kind: "pass", Time: 1e9},
			{Node: 1, Kind: "close", Conn: "client#1", To: 2},
			{Node: 1, Kind: "close", Address: "127.0.0.1:1"},
			{Node: 2, Kind: "crash", Lost: 2, Comes: 9}, {Node: 2, Kind: "restart"},
			{Node: 2, Kind: "crash", Comes: 11}, {Node: 2, Kind: "pass", Time: 2e9},
			{Node: 2, Kind: "restart"},
			{Node: 1, Kind: "publish", Address: "term 3", Data: []byte("1")},
			{Node: 2, Kind: "publish", Address: "term 3", From: 17, Violates: "nodes are to agree"},
		}}
}

// TestSaveAndLoadNodes: what was written is read, and the text of the file stays.
func TestSaveAndLoadNodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counterexample")
	if err := SaveNodes(path, exampleOfNodes()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "nodesrecording.jsonl", string(text))
	one, several, err := LoadAny(path)
	if err != nil || one != nil {
		t.Fatalf("%+v, %v", one, err)
	}
	if diff := cmp.Diff(exampleOfNodes(), several); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
	// Commands for one program say what to do.
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "it is of several programs") {
		t.Errorf("as one of a single program: %v", err)
	}
	path, _ = saved(t, example())
	if one, several, err = LoadAny(path); err != nil || several != nil || one == nil {
		t.Errorf("one program: %+v, %+v, %v", one, several, err)
	}
}

// TestWrongNodesAreRefused: recordings that no check would write are neither written nor read.
func TestWrongNodesAreRefused(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*NodesRecording)
	}{
		{"1 node, and number 1", func(r *NodesRecording) { r.Nodes = r.Nodes[:1] }},
		{"2 nodes, and number 3", func(r *NodesRecording) { r.Violated = 3 }},
		{"one begins at 3, and the one before it ends at 3", func(r *NodesRecording) {
			links := [][2]int{{1, 2}}
			then := &NodesPartition{Links: links, From: 3, Until: 4}
			r.Partition = &NodesPartition{Links: links, From: 1, Until: 3, Then: then}
		}},
		{"2 nodes, and number 0", func(r *NodesRecording) { r.Violated = 0 }},
		{"65 nodes", func(r *NodesRecording) { r.Nodes = append(r.Nodes, make([]NodeRecording, 63)...) }},
		{`node 2 has the name "server"`, func(r *NodesRecording) { r.Nodes[1].Name = "server" }},
		{`node 1 has the name ""`, func(r *NodesRecording) { r.Nodes[0].Name = "" }},
		{"node client: the build", func(r *NodesRecording) { r.Nodes[1].Build = "" }},
		{"node client: the outcome", func(r *NodesRecording) { r.Nodes[1].Outcome = "" }},
		{"node server: package \"-x\"", func(r *NodesRecording) { r.Nodes[0].Package = "-x" }},
		{"node server: choice 0: alternative -1", func(r *NodesRecording) {
			r.Nodes[0].Schedule[0].Choice = -1
		}},
		{`event 1: kind "wait"`, func(r *NodesRecording) { r.Events[0].Kind = "wait" }},
		{"event 1: of node 0", func(r *NodesRecording) { r.Events[0].Node = 0 }},
		{"event 1: of node 3", func(r *NodesRecording) { r.Events[0].Node = 3 }},
		{"event 2: of node 2 to node 2", func(r *NodesRecording) { r.Events[1].To = 2 }},
		{"event 2: of node 2 to node 9", func(r *NodesRecording) { r.Events[1].To = 9 }},
		{"event 3: of event 3", func(r *NodesRecording) { r.Events[2].From = 3 }},
		{"event 3: accept of event 0", func(r *NodesRecording) { r.Events[2].From = 0 }},
		{"event 3: accept of event 1", func(r *NodesRecording) { r.Events[2].From = 1 }},
		{"event 4: send of event 1", func(r *NodesRecording) { r.Events[3].From = 1 }},
		{"event 5: shutdown with 1 bytes", func(r *NodesRecording) { r.Events[4].Data = []byte("x") }},
		{"event 6: of event 4, with -1 bytes", func(r *NodesRecording) { r.Events[5].Taken = -1 }},
		{"node client: choice 0: alternative -1", func(r *NodesRecording) {
			r.Nodes[1].Later[0].Schedule[0].Choice = -1
		}},
		{"event 12: crash to node 1", func(r *NodesRecording) { r.Events[11].To = 1 }},
		{"event 13: restart to node 0, which loses 1 changes", func(r *NodesRecording) {
			r.Events[12].Lost = 1
		}},
		{"event 13: crash of node 2", func(r *NodesRecording) { r.Events[12].Kind = "crash" }},
		{"event 12: restart of node 2", func(r *NodesRecording) {
			r.Events[11] = NodeEvent{Node: 2, Kind: "restart"}
		}},
		{"event 15: listen of node 2, which has crashed", func(r *NodesRecording) {
			r.Events[14] = NodeEvent{Node: 2, Kind: "listen", Address: "127.0.0.1:2"}
		}},
		{"node client runs again 2 times, and has 1 schedule", func(r *NodesRecording) {
			r.Nodes[1].Later = r.Nodes[1].Later[1:]
		}},
		{"event 17: publish of \"\" to node 0", func(r *NodesRecording) { r.Events[16].Address = "" }},
		{"event 17: publish of \"term 3\" to node 2", func(r *NodesRecording) { r.Events[16].To = 2 }},
		{"event 16: restart of \"\" to node 0", func(r *NodesRecording) { r.Events[15].Violates = "x" }},
		{"event 17: publish of \"term 3\" at the end of a node", func(r *NodesRecording) {
			r.Events[16].End = true
		}},
		{"event 18: publish of event 16", func(r *NodesRecording) { r.Events[17].From = 16 }},
		{"event 8: pass with 0 bytes at 0s", func(r *NodesRecording) { r.Events[7].Time = 0 }},
	} {
		refuses(t, c.want, c.spoil)
	}
}

// TestWrongDatagramsAreRefused: likewise of datagrams, and of where connects are from.
func TestWrongDatagramsAreRefused(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*NodesRecording)
	}{
		{"event 2: a connect of event 0 to node 1, refused: true", func(r *NodesRecording) {
			r.Events[1].Failed = true
		}},
		{`event 3: accept from "10.0.0.1:1"`, func(r *NodesRecording) { r.Events[2].At = "10.0.0.1:1" }},
		{`event 4: send from "10.0.0.1:1"`, func(r *NodesRecording) { r.Events[3].At = "10.0.0.1:1" }},
		{`event 4: send to node 1, which is "late"`, func(r *NodesRecording) { r.Events[3].Fate = "late" }},
		{`event 4: send to node 1, which is "lost"`, func(r *NodesRecording) {
			datagram(&r.Events[3], "lost")
		}},
		{`event 4: send to node 1, which is "eaten"`, func(r *NodesRecording) {
			datagram(&r.Events[3], "eaten")
		}},
	} {
		refuses(t, c.want, c.spoil)
	}
}

// TestWhatIsLateIsKept: likewise of what is late on a slow connection. Only what is sent there is.
func TestWhatIsLateIsKept(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*NodesRecording)
	}{
		{"event 3: accept to node 0, 1 advances of the clock late", func(r *NodesRecording) {
			r.Events[2].Late = 1
		}},
		{"event 4: send to node 1, -2 advances of the clock late", func(r *NodesRecording) {
			r.Events[3].Late = -2
		}},
		{"event 4: send to node 1, -1 advances of the clock late", func(r *NodesRecording) {
			r.Walk, r.Events[3].Late = false, -1
		}},
		{"event 11: close to node 0, 2 advances of the clock late", func(r *NodesRecording) {
			r.Events[10].Late = 2
		}},
	} {
		refuses(t, c.want, c.spoil)
	}
	for _, late := range []int{-1, 3} {
		r := exampleOfNodes()
		r.Events[3].Late, r.Events[4].Late, r.Events[9].Late = late, late, late
		path := filepath.Join(t.TempDir(), "file")
		if err := SaveNodes(path, r); err != nil {
			t.Fatal(err)
		}
		if _, again, err := LoadAny(path); err != nil || cmp.Diff(r, again) != "" {
			t.Errorf("%d: %v\n%s", late, err, cmp.Diff(r, again))
		}
	}
}

// refuses checks that a recording which is spoilt is refused, with an error that says so.
func refuses(t *testing.T, want string, spoil func(*NodesRecording)) {
	t.Helper()
	r := exampleOfNodes()
	spoil(r)
	path := filepath.Join(t.TempDir(), "file")
	if err := SaveNodes(path, r); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("written: %v, want %s", err, want)
	}
	text, err := r.encode()
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadAny(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v, want %s", err, want)
	}
}

// datagram makes a send that of a datagram, of which something becomes.
func datagram(e *NodeEvent, fate string) {
	e.At, e.Address, e.Fate = "10.0.0.2:7000", "10.0.0.1:7000", fate
}

// TestDatagramsAreKept: what becomes of a datagram is in the file, and a connect that is refused
// before its listener was there.
func TestDatagramsAreKept(t *testing.T) {
	for _, fate := range append([]string{""}, NodeEventFates...) {
		r := exampleOfNodes()
		sent := NodeEvent{Node: 2, Kind: "send", Conn: "client#udp1", Data: []byte("x")}
		if datagram(&sent, fate); fate == "" || fate == "late" || fate == "copy" {
			sent.To = 1
		}
		r.Events = append(r.Events, sent, NodeEvent{Node: 2, Kind: "connect", Conn: "client#9",
			Address: "10.0.0.1:7001", At: "10.0.0.2:5", Failed: true})
		path := filepath.Join(t.TempDir(), "file")
		if err := SaveNodes(path, r); err != nil {
			t.Fatalf("%q: %v", fate, err)
		}
		if _, again, err := LoadAny(path); err != nil || cmp.Diff(r, again) != "" {
			t.Errorf("%q: %v\n%s", fate, err, cmp.Diff(r, again))
		}
	}
}

// decodeNodesText reads the text of a file.
func decodeNodesText(text []byte) (*NodesRecording, error) {
	body, format, err := checkFrame(text)
	if err != nil || format != versionNodes {
		return nil, err
	}
	return decodeNodes(body)
}

// TestDamagedNodes: a file that is cut off, or in which a byte is another one, is refused with an
// error that says what to do.
func TestDamagedNodes(t *testing.T) {
	text, err := exampleOfNodes().encode()
	if err != nil {
		t.Fatal(err)
	}
	for at := range text {
		damaged := append([]byte{}, text...)
		damaged[at] ^= 1
		for _, text := range [][]byte{damaged, text[:at]} {
			r, err := decodeNodesText(text)
			if r != nil && !cmp.Equal(r, exampleOfNodes()) {
				t.Fatalf("byte %d: read as %+v", at, r)
			}
			if err != nil && !strings.Contains(err.Error(), "check the program again") &&
				!strings.Contains(err.Error(), "no recording of Tandem") {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	}
	const first = `{"tandem_recording":3,"violated":1}` + "\n"
	for body, want := range map[string]string{
		first + `{"choose":{"goroutine":"1","choice":0}}`: "line 2: a choice of no node",
		first + `{"again":7}`:                             "line 2: no node runs again",
		first + `{"expect":{}}`:                           `line 2: json: unknown field "expect"`,
		first + "\n" + `{"event":{"node":9}}`:             "line 2: an empty line",
		first + `{}`:                                      "line 2: want exactly one of node",
		`{"tandem_recording":3,"viol":1}`:                 `line 1: json: unknown field "viol"`,
	} {
		if _, err := decodeNodesText(resum(body + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// FuzzDecodeNodes: any file is refused with an error, or is a recording that can be saved again.
func FuzzDecodeNodes(f *testing.F) {
	text, err := exampleOfNodes().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	// The fuzzer does not find sums: also try the text as a body.
	body := text[:strings.LastIndex(string(text), `{"sha256"`)]
	f.Add(body)
	f.Add([]byte(`{"tandem_recording":3,"violated":1}` + "\n" + `{"node":null}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, text := range [][]byte{text, resum(string(text))} {
			r, err := decodeNodesText(text)
			if err != nil || r == nil {
				continue
			}
			again, err := r.encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeNodesText(again); err != nil {
				t.Fatalf("%v\nin what was written again:\n%s", err, again)
			}
		}
	})
}
