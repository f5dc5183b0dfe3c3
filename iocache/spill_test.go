package iocache

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// memoryStore is a Store that may be full, and damaged.
type memoryStore struct {
	data  []byte
	limit int // bytes; 0: none
}

var errFull = errors.New("it is full")

func (s *memoryStore) Append(data []byte) (int64, error) {
	if s.limit > 0 && len(s.data)+len(data) > s.limit {
		return 0, errFull
	}
	s.data = append(s.data, data...)
	return int64(len(s.data) - len(data)), nil
}

func (s *memoryStore) ReadAt(data []byte, offset int64) (int, error) {
	return bytes.NewReader(s.data).ReadAt(data, offset)
}

// fill records requests whose answers have 1000 bytes, until there is no room.
func fill(t *testing.T, c *Cache, requests int) (cursors []NodeID, err error) {
	t.Helper()
	cur, err := c.Record(Root, connect(0), Reaction{})
	for i := 0; err == nil && i < requests; i++ {
		cursors = append(cursors, cur)
		cur, err = c.Record(cur, send("more"), answerTo(i))
	}
	return cursors, err
}

func answerTo(i int) Reaction { return says(fmt.Sprintf("%1000d", i)) }

// TestSpilling: a cache that spills holds many times the limit, and answers the same.
func TestSpilling(t *testing.T) {
	const limit, requests = 1 << 20, 3000
	if _, err := fill(t, New(Limits{Bytes: limit}), requests); err == nil {
		t.Fatal("they all fit without spilling")
	}
	c := New(Limits{Bytes: limit})
	c.SpillTo(&memoryStore{})
	cursors, err := fill(t, c, requests)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Bytes > limit || s.Spilled < requests/2 {
		t.Errorf("%+v", s)
	}
	for range 2 {
		for i, cur := range cursors {
			if _, served, _, hit, _ := c.Lookup(cur, send("more")); !hit || !served.Equal(answerTo(i)) {
				t.Fatalf("request %d: %v, hit %v", i, served, hit)
			}
		}
	}
	for i, step := range must(c.Path(cursors[0], cursors[requests-1])) {
		if err := c.Compare(step, answerTo(i)); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Bytes > limit {
		t.Errorf("after reading %+v", s)
	}
}

// TestWhatIsUsedStays: what is asked for all the time is not spilled.
func TestWhatIsUsedStays(t *testing.T) {
	c := New(Limits{Bytes: 1 << 20})
	c.SpillTo(&memoryStore{})
	cur, err := c.Record(Root, connect(0), Reaction{})
	if err != nil {
		t.Fatal(err)
	}
	hot, err := c.Record(cur, send("hot"), answerTo(0))
	if err != nil {
		t.Fatal(err)
	}
	for i, at := 0, cur; i < 1500; i++ {
		if at, err = c.Record(at, send("more"), answerTo(i)); err != nil {
			t.Fatal(err)
		}
		c.Lookup(cur, send("hot"))
	}
	if c.answers[c.nodes[hot].answer].spilled {
		t.Error("it was")
	}
}

// TestFullStore: when nothing more can be spilled the cache is full, and has all that it had.
func TestFullStore(t *testing.T) {
	c := New(Limits{Bytes: 1 << 20})
	c.SpillTo(&memoryStore{limit: 500_000})
	cursors, err := fill(t, c, 10_000)
	var full *LimitError
	if !errors.As(err, &full) || c.Stats().Spilled == 0 {
		t.Fatalf("error %v, %+v", err, c.Stats())
	}
	for i, cur := range cursors[:len(cursors)-1] {
		if _, served, _, hit, _ := c.Lookup(cur, send("more")); !hit || !served.Equal(answerTo(i)) {
			t.Fatalf("request %d: %v, hit %v", i, served, hit)
		}
	}
}

// TestDamagedStore: what was spilled and is not there any more is an error that says so, never
// another answer.
func TestDamagedStore(t *testing.T) {
	for name, damage := range map[string]func(*memoryStore){
		"cut off":  func(s *memoryStore) { s.data = s.data[:len(s.data)/2] },
		"a bit":    func(s *memoryStore) { s.data[len(s.data)-100] ^= 4 },
		"a length": func(s *memoryStore) { s.data[0]++ },
	} {
		c, store := New(Limits{Bytes: 1 << 20}), &memoryStore{}
		c.SpillTo(store)
		cursors, err := fill(t, c, 3000)
		if err != nil {
			t.Fatal(err)
		}
		damage(store)
		noticed := 0
		for i, cur := range cursors {
			before := c.Stats()
			_, served, _, hit, err := c.Lookup(cur, send("more"))
			var lost *SpillError
			switch {
			case err == nil && (!hit || !served.Equal(answerTo(i))):
				t.Errorf("%s: request %d: %v, hit %v", name, i, served, hit)
			case err != nil && (!errors.As(err, &lost) || hit || c.Stats() != before):
				t.Errorf("%s: request %d: hit %v, error %v", name, i, hit, err)
			case err != nil:
				noticed++
				lostEverywhere(t, c, cur, cursors[min(i+1, len(cursors)-1)])
			}
		}
		if noticed == 0 {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

// lostEverywhere: whatever needs an answer that was lost, to the request that leads from cur to
// next, returns the error, and changes nothing.
func lostEverywhere(t *testing.T, c *Cache, cur, next NodeID) {
	t.Helper()
	_, record := c.Record(cur, send("more"), says("something else"))
	_, path := c.Path(Root, next)
	_, missing := c.Missing(Position{Root}, Position{next})
	x := c.Cursor(Group)
	x.at[0] = cur
	_, _, _, lookup := x.Lookup(send("more"))
	x.at[0] = cur
	_, compare := x.Compare(send("more"), says("something else"))
	for what, err := range map[string]error{"Record": record, "Path": path, "Missing": missing,
		"Lookup":  lookup,
		"Compare": compare} {
		var lost *SpillError
		if next != cur && !errors.As(err, &lost) {
			t.Fatalf("%s: %v, want that an answer was lost", what, err)
		}
	}
	if places := c.Places(Position{cur}, Position{next}); next != cur &&
		(len(places) != 1 || places[0] != next) {
		t.Fatalf("the places on the way are %v", places)
	}
}
