package iocache

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// memoryStore is a Store that may be full, and damaged.
type memoryStore struct {
	data   []byte
	limit  int // bytes; 0: none
	failed int // calls of Append
}

var errFull = errors.New("it is full")

func (s *memoryStore) Append(data []byte) (int64, error) {
	if s.limit > 0 && len(s.data)+len(data) > s.limit {
		s.failed++
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
	const limit = 1 << 20
	c, store := New(Limits{Bytes: limit}), &memoryStore{limit: 500_000}
	c.SpillTo(store)
	cursors, err := fill(t, c, 10_000)
	var full *LimitError
	if !errors.As(err, &full) || !errors.Is(err, errFull) || c.Stats().Spilled == 0 {
		t.Fatalf("error %v, %+v", err, c.Stats())
	}
	// A quarter more was taken, while the store was tried a few times only.
	s := c.Stats()
	if s.Bytes <= limit || s.Bytes > limit+limit/4 || s.Outage.Exceeded < s.Bytes-limit ||
		s.Outage.Exceeded > limit/4 {
		t.Errorf("%+v", s)
	}
	if o := s.Outage; o.Failed != store.failed || o.Failed < 3 || o.Failed > 16 || o.First != errFull {
		t.Errorf("%+v, and the store has failed %d times", o, store.failed)
	}
	for i, cur := range cursors[:len(cursors)-1] {
		if _, served, _, hit, _ := c.Lookup(cur, send("more")); !hit || !served.Equal(answerTo(i)) {
			t.Fatalf("request %d: %v, hit %v", i, served, hit)
		}
	}
}

// TestTooManyPlaces: where there are too many places, a store that has failed is not why.
func TestTooManyPlaces(t *testing.T) {
	c := New(Limits{Bytes: 1 << 18, Nodes: 235})
	c.SpillTo(&memoryStore{limit: 1})
	_, err := fill(t, c, 10_000)
	var full *LimitError
	if !errors.As(err, &full) || full.Store != nil ||
		!strings.Contains(err.Error(), "235 places of at most 235") {
		t.Errorf("%v", err)
	}
	if o := c.Stats().Outage; o.Failed == 0 {
		t.Errorf("the store was to fail before: %+v", o)
	}
}

// TestStoreFullForAMoment: a store that was full is used again when there is room. Then the cache
// takes no more than its limit. That happens several times.
func TestStoreFullForAMoment(t *testing.T) {
	const limit, requests = 1 << 20, 4000
	c, store := New(Limits{Bytes: limit}), &memoryStore{limit: 200_000}
	c.SpillTo(store)
	var cursors []NodeID
	cur, err := c.Record(Root, connect(0), Reaction{})
	moments, before := 0, 0
	for i := range requests {
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		cursors = append(cursors, cur)
		cur, err = c.Record(cur, send("more"), answerTo(i))
		if s := c.Stats(); store.failed > before+2 {
			if s.Bytes <= limit || s.Bytes > limit+limit/4 {
				t.Errorf("while it is full: %+v", s)
			}
			store.limit += 700_000
			moments, before = moments+1, store.failed
		} else if c.outage.err == nil && s.Bytes > limit {
			t.Errorf("while there is room: %+v", s)
		}
	}
	s := c.Stats()
	if o := s.Outage; moments < 3 || o.First != errFull || o.Exceeded <= 0 || o.Exceeded > limit/4 {
		t.Errorf("%d moments, %+v", moments, s)
	}
	for i, cur := range cursors {
		if _, served, _, hit, _ := c.Lookup(cur, send("more")); !hit || !served.Equal(answerTo(i)) {
			t.Fatalf("request %d: %v, hit %v", i, served, hit)
		}
	}
}

// TestRoomy: what is read from a file is spilled beyond the limit, and refused only if that cannot
// be done.
func TestRoomy(t *testing.T) {
	const limit, requests = 1 << 18, 2000 // the requests alone take more
	c := New(Limits{})
	c.SpillTo(&memoryStore{})
	c.Roomy(limit)
	if _, err := fill(t, c, requests); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Bytes < limit || s.Bytes > requests*500 || s.Spilled < requests-10 {
		t.Errorf("%+v", s)
	}
	c = New(Limits{})
	c.SpillTo(&memoryStore{limit: 1})
	c.Roomy(limit)
	var full *LimitError
	if _, err := fill(t, c, requests); !errors.As(err, &full) || !errors.Is(err, errFull) ||
		c.Stats().Bytes > limit+limit/4 {
		t.Errorf("%v, %+v", err, c.Stats())
	}
}

// TestRoomyStoreFailsOnce: a cache that holds much more than its limit goes on where its file could
// not be written once, and where that lasts, it takes a quarter of the limit more.
func TestRoomyStoreFailsOnce(t *testing.T) {
	const limit, requests = 1 << 18, 4000
	for _, lasts := range []bool{false, true} {
		c, store := New(Limits{}), &memoryStore{}
		c.SpillTo(store)
		c.Roomy(limit)
		began := int64(0)
		cur, err := c.Record(Root, connect(0), Reaction{})
		for i := 0; i < requests && err == nil; i++ {
			switch held := c.Stats().Bytes; {
			case began == 0 && held > 2*limit:
				began, store.limit = held, len(store.data)+1
			case began > 0 && !lasts && store.failed > 0:
				store.limit = 0
			}
			cur, err = c.Record(cur, send("more"), answerTo(i))
		}
		var full *LimitError
		isFull, more := errors.As(err, &full), c.Stats().Bytes-began
		if isFull != lasts || began == 0 || store.failed == 0 || lasts && (more < limit/8 || more > limit/3) {
			t.Errorf("the failure lasts (%v): %v after %d failures, %d bytes more", lasts, err, store.failed,
				more)
		}
	}
}

// TestLastTry: a store is tried once more before a record is refused, however lately it has failed.
func TestLastTry(t *testing.T) {
	const limit = 1 << 20
	c, store := New(Limits{Bytes: limit}), &memoryStore{limit: 1}
	c.SpillTo(store)
	cur, err := c.Record(Root, connect(0), Reaction{})
	for i := 0; i < 4000 && err == nil; i++ {
		if c.Stats().Bytes > limit+limit/4-2000 { // there is no room for one more
			store.limit = 0
		}
		cur, err = c.Record(cur, send("more"), answerTo(i))
	}
	if err != nil || store.failed < 3 || store.limit != 0 {
		t.Errorf("%v, after %d failures", err, store.failed)
	}
}

// TestLooksForWhatToSpill: how many answers are looked at grows with what is recorded, and not with
// its square, also if nothing can be spilled or very little.
func TestLooksForWhatToSpill(t *testing.T) {
	const limit, requests = 1 << 18, 20_000
	for name, test := range map[string]struct {
		roomy  bool
		store  memoryStore
		answer func(i int) Reaction
	}{
		"large answers":            {true, memoryStore{}, answerTo},
		"small answers":            {true, memoryStore{}, small},
		"some large ones":          {true, memoryStore{}, someLarge},
		"some large ones, a limit": {false, memoryStore{}, someLarge},
		"a full disk, and a limit": {false, memoryStore{limit: 100_000}, someLarge},
		"a full disk":              {true, memoryStore{limit: 100_000}, someLarge},
	} {
		c := New(Limits{})
		c.SpillTo(&test.store)
		if c.Limit(limit); test.roomy {
			c.Roomy(limit)
		}
		recorded := 0
		cur, err := c.Record(Root, connect(0), Reaction{})
		for ; err == nil && recorded < requests; recorded++ {
			cur, err = c.Record(cur, send("more"), test.answer(recorded))
			c.Lookup(cur, send("more")) // which nobody has answered
		}
		isRefused := !test.roomy || test.store.limit > 0
		if (err != nil) != isRefused {
			t.Errorf("%s: after %d requests: %v", name, recorded, err)
		}
		if most := 5 * recorded; c.looks > most {
			t.Errorf("%s: %d answers were looked at for %d requests, want at most %d", name, c.looks,
				recorded, most)
		}
		if !isRefused && c.spillable > c.bytes/16 {
			t.Errorf("%s: of %d bytes %d could be spilled", name, c.bytes, c.spillable)
		}
	}
}

// someLarge are answers of which one in ten is large enough to be spilled.
func someLarge(i int) Reaction {
	if i%10 == 0 {
		return answerTo(i)
	}
	return small(i)
}

func small(i int) Reaction { return says(fmt.Sprint(i)) }

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
