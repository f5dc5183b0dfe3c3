package races

import (
	"maps"
	"slices"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const (
	slicesAndMaps = "non-blocking: data race, slice or map"
	ownership     = "non-blocking: data race, shared by reference"
)

var sharedBugs = []bug.Bug{
	{
		Name: "race-map", Class: slicesAndMaps, Shows: bug.DataRace,
		Doc:   "two goroutines write different keys of one map",
		Buggy: func() { countWords(countInOneMap) },
		Fixed: func() { countWords(countInOwnMaps) },
	},
	{
		Name: "race-append", Class: slicesAndMaps, Shows: bug.DataRace,
		Doc:   "goroutines append to one slice",
		Buggy: func() { collect(collectByAppend) },
		Fixed: func() { collect(collectByIndex) },
	},
	{
		Name: "race-slice-header", Class: slicesAndMaps, Shows: bug.DataRace,
		Doc:   "a slice that is appended to under a lock is passed by value without it",
		Buggy: func() { appendWhileReading((*journal).readUnlocked) },
		Fixed: func() { appendWhileReading((*journal).read) },
	},
	{
		Name: "race-backing-array", Class: slicesAndMaps, Shows: bug.DataRace,
		Doc:   "two slices are extended by append, and share the array behind them",
		Buggy: func() { extendBoth(make([]string, 1, 4)) },
		Fixed: func() { extendBoth(slices.Clip(make([]string, 1, 4))) },
	},
	{
		Name: "race-map-escapes", Class: slicesAndMaps, Shows: bug.DataRace,
		Doc:   "a getter returns, under the lock, a map that is read when the lock is gone",
		Buggy: func() { rangeWhileSetting((*settings).all) },
		Fixed: func() { rangeWhileSetting((*settings).clone) },
	},
	{
		Name: "race-value-in-sync-map", Class: ownership, Shows: bug.DataRace,
		Doc:   "a sync.Map protects its keys and values, but not what the values point to",
		Buggy: func() { hitTwice((*counters).hitPointer) },
		Fixed: func() { hitTwice((*counters).hitLocked) },
	},
	{
		Name: "race-buffer-sent", Class: ownership, Shows: bug.DataRace,
		Doc:   "a buffer that was sent through a channel is filled again by the sender",
		Buggy: func() { transmit(sendSame) },
		Fixed: func() { transmit(sendFresh) },
	},
	{
		Name: "race-struct-copy", Class: ownership, Shows: bug.DataRace,
		Doc:   "a structure is copied while another goroutine changes one of its fields",
		Buggy: func() { copyWhileUpdating((*status).copyUnlocked) },
		Fixed: func() { copyWhileUpdating((*status).copy) },
	},
	{
		Name: "race-after-put", Class: "non-blocking: data race, library", Shows: bug.DataRace,
		Doc:   "a buffer is still used when it has been given back to its pool",
		Buggy: func() { format(formatAndPut) },
		Fixed: func() { format(formatThenPut) },
	},
}

// countInOneMap has the bug: a map is one thing, whatever its keys.
func countInOneMap(words [2]string) map[string]int {
	counts := map[string]int{}
	var group sync.WaitGroup
	for _, word := range words {
		group.Go(func() { counts[word]++ })
	}
	group.Wait()
	return counts
}

// countInOwnMaps joins the maps when all are done.
func countInOwnMaps(words [2]string) map[string]int {
	var parts [2]map[string]int
	var group sync.WaitGroup
	for i, word := range words {
		group.Go(func() { parts[i] = map[string]int{word: 1} })
	}
	group.Wait()
	maps.Copy(parts[0], parts[1])
	return parts[0]
}

func countWords(count func([2]string) map[string]int) { count([2]string{"a", "b"}) }

// collectByAppend has the bug: append reads and writes the header of the slice.
func collectByAppend(n int) (squares []int) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { squares = append(squares, i*i) })
	}
	group.Wait()
	return squares
}

// collectByIndex gives each goroutine a place of its own.
func collectByIndex(n int) []int {
	squares := make([]int, n)
	var group sync.WaitGroup
	for i := range squares {
		group.Go(func() { squares[i] = i * i })
	}
	group.Wait()
	return squares
}

func collect(squares func(int) []int) { squares(2) }

// journal is a list of lines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) append(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func length(lines []string) int { return len(lines) }

// readUnlocked has the bug: to pass a slice is to read it.
func (j *journal) readUnlocked() int { return length(j.lines) }

func (j *journal) read() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return length(j.lines)
}

func appendWhileReading(read func(*journal) int) {
	var j journal
	var group sync.WaitGroup
	group.Go(func() { j.append("line") })
	group.Go(func() { read(&j) })
	group.Wait()
}

// extendBoth adds different options to the same ones. If the slice has room, both
// write into that; a clipped slice has none, and each append makes a new array.
func extendBoth(options []string) {
	var group sync.WaitGroup
	for _, option := range []string{"-x", "-y"} {
		group.Go(func() { run(append(options, option)) })
	}
	group.Wait()
}

func run(options []string) int { return len(options) }

// settings can be changed at any time.
type settings struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *settings) set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// all has the bug: the lock protects the variable, and lets the map go.
func (s *settings) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values
}

func (s *settings) clone() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

func rangeWhileSetting(get func(*settings) map[string]string) {
	s := settings{values: map[string]string{"color": "red"}}
	var group sync.WaitGroup
	group.Go(func() { s.set("color", "blue") })
	group.Go(func() {
		for range get(&s) {
			continue
		}
	})
	group.Wait()
}

// counters has a counter for each key.
type counters struct{ byKey sync.Map }

type hits struct {
	mu sync.Mutex
	n  int
}

func (c *counters) of(key string) *hits {
	h, _ := c.byKey.LoadOrStore(key, new(hits))
	return h.(*hits)
}

// hitPointer has the bug: both get the same pointer.
func (c *counters) hitPointer(key string) { c.of(key).n++ }

func (c *counters) hitLocked(key string) {
	h := c.of(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
}

func hitTwice(hit func(*counters, string)) {
	var c counters
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { hit(&c, "/") })
	}
	group.Wait()
}

// sendSame has the bug: who sends a buffer gives it away.
func sendSame(packets chan<- []byte) {
	buffer := make([]byte, 1)
	for n := range 2 {
		buffer[0] = byte(n)
		packets <- buffer
	}
}

func sendFresh(packets chan<- []byte) {
	for n := range 2 {
		packets <- []byte{byte(n)}
	}
}

func transmit(send func(chan<- []byte)) {
	packets := make(chan []byte, 2)
	go func() {
		defer close(packets)
		send(packets)
	}()
	sum := 0
	for p := range packets {
		sum += int(p[0])
	}
}

// status is what a server says of itself.
type status struct {
	mu       sync.Mutex
	requests int
	failures int
}

func (s *status) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.failures++
}

// copyUnlocked has the bug: a copy is a read of all fields.
func (s *status) copyUnlocked() (requests, failures int) { return s.requests, s.failures }

func (s *status) copy() (requests, failures int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.failures
}

func copyWhileUpdating(take func(*status) (int, int)) {
	var s status
	var group sync.WaitGroup
	group.Go(s.fail)
	group.Go(func() { take(&s) })
	group.Wait()
}

// formatAndPut has the bug: the text that it returns is in a buffer that the next
// one takes from the pool.
func formatAndPut(pool *sync.Pool, c byte) byte {
	b := pool.Get().(*[1]byte)
	b[0] = c
	pool.Put(b)
	return b[0]
}

func formatThenPut(pool *sync.Pool, c byte) byte {
	b := pool.Get().(*[1]byte)
	b[0] = c
	text := b[0]
	pool.Put(b)
	return text
}

func format(one func(*sync.Pool, byte) byte) {
	pool := sync.Pool{New: func() any { return new([1]byte) }}
	var group sync.WaitGroup
	for _, c := range []byte("ab") {
		group.Go(func() { one(&pool, c) })
	}
	group.Wait()
}
