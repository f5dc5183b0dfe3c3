package iocache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache/internal/codec"
	"pgregory.net/rapid"
)

func entry(at NodeID, in Input, r Reaction) Entry { return Entry{At: at, Input: in, Reaction: r} }

// someEntries are records of every kind.
var someEntries = []Entry{
	entry(Root, connect(0), says("hello")),
	entry(1, Input{Kind: Send, Data: []byte("a\x00\xff\"\n")},
		Reaction{Deliveries: []Delivery{{Data: []byte("ü\x80"), End: EOF}}}),
	entry(Root, Input{Kind: Connect, Addr: "127.0.0.1:23"}, Reaction{Refused: 111}),
	entry(2, Input{Kind: Connect, Conn: 1, Addr: "127.0.0.1:22"},
		Reaction{Deliveries: []Delivery{{End: Reset}, {Conn: 1, Data: []byte("hello")}}}),
	entry(4, Input{Kind: Shutdown, Conn: 1}, Reaction{}),
	entry(5, Input{Kind: Close, Conn: 1}, Reaction{}),
	entry(Root, Input{Kind: Choose, Conn: 3}, Reaction{}),
	entry(Root, Input{Kind: Listen, Addr: "0.0.0.0:80"},
		Reaction{Opened: []int{0, 0}, Deliveries: []Delivery{{Conn: 2, Data: []byte("GET"), End: EOF}}}),
	entry(8, Input{Kind: Close, Conn: 2}, Reaction{Ended: []Ending{{}, {Peer: 1, Status: 256}}}),
	entry(9, Input{Kind: Close, Conn: 0}, Reaction{Deliveries: []Delivery{{Conn: 1, End: Reset}},
		Ended: []Ending{{Peer: 2, Status: 9}}}),
	entry(1, Input{Kind: Pass}, Reaction{Deliveries: []Delivery{{End: EOF}}}),
}

const someText = `0 connect 0 "127.0.0.1:22" => 0:"hello"
1 send 0 "a\x00\xff\"\n" => 0:"\u00fc\x80"EOF
0 connect 0 "127.0.0.1:23" => refused(errno 111)
2 connect 1 "127.0.0.1:22" => 0:""reset 1:"hello"
4 shutdown 1 => nothing
5 close 1 => nothing
0 choose 3 => nothing
0 listen 0 "0.0.0.0:80" => opened(at 0) opened(at 0) 2:"GET"EOF
8 close 2 => ended(peer 0, status 0) ended(peer 1, status 256)
9 close 0 => 1:""reset ended(peer 2, status 9)
1 pass 0 => 0:""EOF
`

func fileOf(description string, entries []Entry) []byte {
	b := AppendHeader(nil, description)
	for _, e := range entries {
		b = AppendEntry(b, e)
	}
	return b
}

// readFile reads as much as it can: the error is nil at the end of the file.
func readFile(data []byte) (description string, entries []Entry, offset int64, err error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return "", nil, 0, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			entries = append(entries, e)
			continue
		}
		return r.Description, entries, r.Offset(), err
	}
}

func TestFile(t *testing.T) {
	data := fileOf("peers of all model.Kinds", someEntries)
	description, entries, offset, err := readFile(data)
	if diff := cmp.Diff(someEntries, entries); err != nil || diff != "" || description != "peers of all "+
		"model.Kinds" || offset != int64(len(data)) {
		t.Errorf("description %q, offset %d of %d, error %v, entries (-written +read):\n"+
			"%s", description, offset, len(data), err, diff)
	}
	var text []byte
	for _, e := range someEntries {
		text = append(e.AppendText(text), '\n')
	}
	if diff := cmp.Diff(someText, string(text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	c := New(Limits{})
	for _, e := range someEntries {
		if err := c.Restore(e); err != nil {
			t.Errorf("%s: %v", e.AppendText(nil), err)
		}
	}
}

// drawEntry draws a record that need not make sense.
func drawEntry(t *rapid.T) Entry {
	data := rapid.SliceOfN(rapid.Byte(), 0, 20)
	bytes := func(label string) []byte {
		if b := data.Draw(t, label); len(b) > 0 {
			return b
		}
		return nil
	}
	number := rapid.IntRange(0, 1<<31-1)
	e := Entry{At: NodeID(number.Draw(t, "place")),
		Input: Input{Kind: Kind(rapid.IntRange(1, int(model.Kinds)-1).Draw(t, "kind")),
			Conn: number.Draw(t, "conn")}}
	switch e.Input.Kind {
	case Connect, Listen:
		e.Input.Addr = string(bytes("addr"))
	case Send:
		e.Input.Data = bytes("data")
	}
	if rapid.Bool().Draw(t, "refused") {
		e.Reaction.Refused = number.Draw(t, "errno")
	}
	for range rapid.IntRange(0, 2).Draw(t, "opened") {
		e.Reaction.Opened = append(e.Reaction.Opened, number.Draw(t, "listener"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "ended") {
		e.Reaction.Ended = append(e.Reaction.Ended,
			Ending{Peer: number.Draw(t, "peer"), Status: number.Draw(t, "status")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "deliveries") {
		e.Reaction.Deliveries = append(e.Reaction.Deliveries,
			Delivery{Conn: number.Draw(t, "to"), Data: bytes("received"),
				End: End(rapid.IntRange(0, 2).Draw(t, "end"))})
	}
	return e
}

// TestRoundTrip: records are the same after they were written and read, as a file and as text.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawEntry), 0, 10).Draw(t, "entries")
		description := rapid.String().Draw(t, "description")
		gotDescription, got, _, err := readFile(fileOf(description, want))
		if diff := cmp.Diff(append([]Entry(nil), want...), got); diff != "" || err != nil ||
			gotDescription != description {
			t.Fatalf("%v, description %q, entries (-written +read):\n%s", err, gotDescription, diff)
		}
		for _, e := range want {
			text := string(e.AppendText(nil))
			got, err := ParseText(text)
			if diff := cmp.Diff(e, got); diff != "" || err != nil {
				t.Fatalf("%s: %v\n%s", text, err, diff)
			}
		}
	})
}

// explore runs random executions, whose inputs the peers are given where the cache does not answer
// them.
func (w world) explore(t *rapid.T, c *Cache, executions int) (entries []Entry) {
	for range executions {
		cur := Root
		for range rapid.IntRange(1, 8).Draw(t, "inputs") {
			next, _, rest, hit, _ := c.Lookup(cur, w.drawInput(t, c.place(cur).conns, cur != Root))
			if cur = next; hit {
				continue
			}
			group, _, err := w.replay(c, cur)
			if err != nil {
				t.Fatal(err)
			}
			e := entry(cur, rest, group.perform(rest))
			if cur, err = c.Record(cur, e.Input, e.Reaction); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// TestRestore makes the same tree of what was recorded, node for node.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := drawWorld(t, false), New(Limits{})
		entries := w.explore(t, c, rapid.IntRange(1, 20).Draw(t, "executions"))
		restored := New(Limits{})
		_, read, _, err := readFile(fileOf("", entries))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range read {
			if err := restored.Restore(e); err != nil {
				t.Fatal(err)
			}
		}
		restored.checkTree(t)
		if diff := cmp.Diff(c.dump(), restored.dump()); diff != "" {
			t.Fatalf("tree (-recorded +restored):\n%s", diff)
		}
		if was, is := c.Stats(), restored.Stats(); was.Bytes != is.Bytes || was.Nodes != is.Nodes {
			t.Fatalf("%+v, want %+v", is, was)
		}
	})
}

// TestFollow has a cache that already has the answers of some executions follow another one: then
// it has all that the other one has, and what was new makes the same cache again.
func TestFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c, follower := drawWorld(t, false), New(Limits{}), New(Limits{})
		kept := w.explore(t, follower, rapid.IntRange(0, 5).Draw(t, "executions before"))
		for _, e := range w.explore(t, New(Limits{}), rapid.IntRange(1, 20).Draw(t, "executions")) {
			if err := c.Restore(e); err != nil {
				t.Fatal(err)
			}
			here, isNew, err := follower.Follow(c, e)
			if err != nil {
				t.Fatal(err)
			}
			if isNew {
				kept = append(kept, here)
			}
			if _, isNew, err := follower.Follow(c, e); isNew || err != nil {
				t.Fatalf("%v is new again, error %v", e, err)
			}
		}
		follower.checkTree(t)
		for n := range c.nodes {
			if n := NodeID(n); c.nodes[n].answered && n != Root {
				if at, ok := follower.counterpart(c, n); !ok ||
					w.noticed(pathHistory(follower, at)).key() != w.noticed(pathHistory(c, n)).key() {
					t.Fatalf("place %d is not where the other cache has it:\n%s", n, follower.dump())
				}
			}
		}
		restored := New(Limits{})
		for _, e := range kept {
			if err := restored.Restore(e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(follower.dump(), restored.dump()); diff != "" {
			t.Fatalf("tree (-followed +kept):\n%s", diff)
		}
	})
}

// TestFollowConnections: each connection has a tree of its own, below that of the behaviour.
func TestFollowConnections(t *testing.T) {
	execute := func(c *Cache, order []string, behaviour int, recorded func(Entry)) {
		x := c.Cursor(Connection)
		inputs := []Input{{Kind: Choose, Conn: behaviour}}
		for i, name := range order {
			in := connect(i)
			in.Name = name
			inputs = append(inputs, in, Input{Kind: Send, Conn: i, Data: []byte(name + order[0][:behaviour])})
		}
		for _, in := range inputs {
			if _, _, hit, _ := x.Lookup(in); hit {
				continue
			}
			e, err := x.Record(in, Reaction{})
			if err != nil {
				t.Fatal(err)
			}
			recorded(e)
		}
	}
	c, follower := New(Limits{}), New(Limits{})
	var kept []string
	for behaviour := range 2 {
		execute(follower, []string{"one", "two"}, behaviour, func(Entry) {})
	}
	for behaviour := range 2 {
		execute(c, []string{"two", "one"}, behaviour, func(e Entry) {
			here, isNew, err := follower.Follow(c, e)
			if err != nil {
				t.Fatal(err)
			}
			if isNew {
				kept = append(kept, follower.Name(here.At)+": "+here.Input.String())
			}
		})
	}
	want := []string{`two: send 0 "twot"`, `one: send 0 "onet"`}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("what was new (-want +got):\n%s\n%s", diff, follower.dump())
	}
}

// TestFollowRefuses: what contradicts, and what does not begin where it should, changes nothing.
func TestFollowRefuses(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("a")}, []Reaction{{}, says("A")})
	other, _ := recorded(t, Limits{}, []Input{connect(0), send("a"), send("b")},
		[]Reaction{{}, says("X"), {}})
	before := c.dump()
	var differs *Inconsistency
	if _, isNew, err := c.Follow(other, Entry{At: cursors[1], Input: send("a"),
		Reaction: says("X")}); isNew || !errors.As(err, &differs) {
		t.Errorf("new: %v, error %v", isNew, err)
	}
	if _, isNew, err := c.Follow(other, Entry{At: 3, Input: send("c")}); isNew || err == nil {
		t.Errorf("new: %v, error %v", isNew, err)
	}
	if after := c.dump(); after != before {
		t.Errorf("the cache was\n%s and is\n%s", before, after)
	}
}

// TestTornAtEveryByte cuts a file off everywhere: what comes before the cut is read, and
// what is torn says so, unless the header is.
func TestTornAtEveryByte(t *testing.T) {
	description := "a group"
	whole := fileOf(description, someEntries)
	ends := []int{len(AppendHeader(nil, description))}
	for i := range someEntries {
		ends = append(ends, len(fileOf(description, someEntries[:i+1])))
	}
	for length := range whole {
		_, entries, offset, err := readFile(whole[:length])
		n, atEnd := slices.BinarySearch(ends, length)
		if n == 0 && !atEnd {
			if err == nil || entries != nil {
				t.Errorf("%d bytes of a header of %d: %v", length, ends[0], err)
			}
			continue
		}
		if !atEnd {
			n--
		}
		var wrong *FileError
		torn := errors.As(err, &wrong) && wrong.Torn && wrong.Offset == int64(ends[n])
		if len(entries) != n || offset != int64(ends[n]) || atEnd != (err == nil) || !atEnd && !torn {
			t.Errorf("%d bytes: %d records, offset %d, %v; want %d records up to "+
				"%d", length, len(entries), offset, err, n, ends[n])
		}
	}
}

// TestEveryBit flips one bit after the other: no record that was not written is ever read.
func TestEveryBit(t *testing.T) {
	whole := fileOf("a group", someEntries)
	header := len(AppendHeader(nil, "a group"))
	for bit := range len(whole) * 8 {
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		_, entries, _, err := readFile(data)
		var wrong *FileError
		if !errors.As(err, &wrong) {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if diff := cmp.Diff(someEntries[:len(entries)], entries); len(entries) > 0 && diff != "" {
			t.Fatalf("bit %d: records (-written +read):\n%s", bit, diff)
		}
		if bit/8 < header && entries != nil {
			t.Fatalf("bit %d of the header: %d records", bit, len(entries))
		}
	}
}

func TestFileErrors(t *testing.T) {
	data := fileOf("", someEntries)
	for _, test := range []struct {
		name string
		data []byte
		says string
		torn bool
	}{
		{"empty", nil, "at byte 0: this is no file of an I/O cache", false},
		{"something else", []byte("#!/bin/sh\necho hello"), "at byte 0: this is no file of an I/O " +
			"cache", false},
		{"a newer version", slices.Concat(data[:8], []byte{7, 0, 0, 0}, data[12:]), "at byte 0: it is of " +
			"version 7, and this program reads version 4", false},
		{"no description", data[:12], "at byte 12: it ends before its description", false},
		{"a length of 4 GiB", slices.Concat(data[:20], bytes.Repeat([]byte{255}, 100)), "at byte 20: a " +
			"record of 4294967295 bytes is longer than any can be", false},
		{"a length of 1 " +
			"GiB", append(binary.LittleEndian.AppendUint32(data[:20:20], codec.MaxFrame), 1, 2, 3, 4, 5),
			"at byte 20: of the 1073741824 bytes of the last record 1 are there", true},
		{"nonsense with a " +
			"checksum", codec.EndFrame(append(data[:20:20], "\x00\x00\x00\x00\x00\x00\x00\x00\x09"...), 28),
			"at byte 20: the record cannot be read, though its checksum is right", false},
	} {
		_, _, _, err := readFile(test.data)
		var wrong *FileError
		if !errors.As(err, &wrong) || wrong.Error() != "the file of the I/O "+
			"cache, "+test.says || wrong.Torn != test.torn {
			t.Errorf("%s: %v, %+v", test.name, err, wrong)
		}
	}
}

// TestRestoreRefuses gives records that cannot come next: they change nothing.
func TestRestoreRefuses(t *testing.T) {
	c, _ := recorded(t, Limits{}, []Input{connect(0), send("ab"), send("c")}, []Reaction{{}, says("AB"), {}})
	before := c.dump()
	for line, says := range map[string]string{
		`9 send 0 "x" => nothing`:    "iocache: a record follows place 9, which there is not",
		`1 send 3 "x" => nothing`:    "iocache: send on connection 3, but only 1 were opened",
		`1 connect 0 "a" => nothing`: "iocache: connect 0 is out of order: the next connection is 1",
		`1 send 0 "x" => 5:"y"`: `iocache: after send 0 "x" a delivery names connection 5, ` +
			`but only 1 were opened`,
		`1 send 0 "x" => refused(errno 11)`: `iocache: send 0 "x" cannot be refused with errno 11: ` +
			`only a connect or listen can, with a positive one`,
	} {
		e, err := ParseText(line)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Restore(e)); got != says {
			t.Errorf("%s: %s", line, got)
		}
	}
	var contradiction *Inconsistency
	if err := c.Restore(entry(1, send("ab"), says("other"))); !errors.As(err, &contradiction) {
		t.Errorf("a record that contradicts another one: %v", err)
	}
	if diff := cmp.Diff(before, c.dump()); diff != "" {
		t.Errorf("the tree has changed:\n%s", diff)
	}
}

func TestParseTextErrors(t *testing.T) {
	for line, at := range map[string]int{
		"": 0, "x": 0, "0": 1, "0 accept 1 => nothing": 1, "0 connect 0 => " +
			"nothing": 12, `0 connect 0 "a"`: 15,
		`0 send 0 'a' => nothing`: 9, `0 send 0 "a" => `: 15, `0 close 0 => nothing more`: 20,
		`0 close 0 => 0:"a"gone`:         18,
		`0 close 99999999999 => nothing`: 8, `0 close 0 => 0:"a`: 15, `0 close 0 =>`: 12,
	} {
		want := fmt.Sprintf("iocache: %q is not the text of a record: it cannot be read from its byte %d "+
			"on", line, at)
		if _, err := ParseText(line); fmt.Sprint(err) != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// FuzzFile reads arbitrary files, and makes a cache of what it reads. What was read is
// written as it was.
func FuzzFile(f *testing.F) {
	f.Add(fileOf("a group", someEntries))
	f.Add(fileOf("", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		description, entries, offset, _ := readFile(data)
		if again := fileOf(description, entries); len(entries) > 0 && len(again) > int(offset) {
			t.Fatalf("%d bytes were read, and %d are written", offset, len(again))
		}
		c := New(Limits{})
		for _, e := range entries {
			if c.Restore(e) != nil {
				break
			}
		}
	})
}

// FuzzText parses arbitrary lines: what can be read is written as a line that reads the same.
func FuzzText(f *testing.F) {
	for _, e := range someEntries {
		f.Add(string(e.AppendText(nil)))
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := ParseText(line)
		if err != nil {
			return
		}
		again, err := ParseText(string(e.AppendText(nil)))
		if diff := cmp.Diff(e, again); err != nil || diff != "" {
			t.Fatalf("%q: %v\n%s", line, err, diff)
		}
	})
}

// TestHasRecord finds a record wherever it begins, and none in what was cut off or damaged.
func TestHasRecord(t *testing.T) {
	record := AppendEntry(nil, Entry{Input: connect(0)})
	for before := range 20 {
		data := append(bytes.Repeat([]byte{7}, before), record...)
		if !HasRecord(data) {
			t.Errorf("none is found after %d bytes", before)
		}
		for length := range len(data) {
			if HasRecord(data[:length]) {
				t.Errorf("one is found in %d of %d bytes", length, len(data))
			}
		}
		data[before+codec.FrameHeader] ^= 1
		if HasRecord(data) {
			t.Error("one is found that is damaged")
		}
	}
}
