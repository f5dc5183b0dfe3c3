// Package garble is for tests of decoders: it makes bad messages of good ones, very many and always
// the same. Fuzzing with coverage finds more, but takes its time; this is for every run of the
// tests.
package garble

import (
	"bytes"
	"math/rand/v2"
	"runtime/metrics"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// Executions is how many messages a decoder is given; `make fuzz` has a million for each.
const Executions = 250_000

// block is after how many executions it is looked at what they have left behind.
const block = 1000

// Run gives a decoder messages that are made of good ones, of which there is at least one. What the
// decoder does wrong it tells the test. On average of some it may allocate so many bytes for a
// message, and no descriptor may stay open. The test stops at the first error, with the message.
func Run(t *testing.T, good [][]byte, allocation int, decode func(t testing.TB, message []byte)) {
	t.Helper()
	const seed1, seed2 = 1, 2
	g := New(good, seed1, seed2)
	files, allocated := testkit.OpenFiles(t), allocations()
	for n := 1; n <= Executions; n++ {
		message := g.Next()
		if decode(t, message); t.Failed() {
			t.Fatalf("seed %d, %d: message %d is %q", seed1, seed2, n, message)
		}
		if n%block > 0 {
			continue
		}
		now := allocations()
		if mean := (now - allocated) / block; mean > uint64(allocation) {
			t.Fatalf("seed %d, %d: messages up to %d, the last of which is %q, had %d bytes allocated on "+
				"average, allowed are %d", seed1, seed2, n, message, mean, allocation)
		}
		if now := testkit.OpenFiles(t); now > files {
			t.Fatalf("seed %d, %d: after message %d %d descriptors are open, before there were %d", seed1,
				seed2, n, now, files)
		}
		allocated = now
	}
}

// allocations are the bytes that this process has ever allocated.
func allocations() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Garbler makes messages.
type Garbler struct {
	good   [][]byte
	random *rand.Rand
	b      []byte
}

// New returns a Garbler whose messages follow from the good ones and the seed.
func New(good [][]byte, seed1, seed2 uint64) *Garbler {
	return &Garbler{good: good, random: rand.New(rand.NewPCG(seed1, seed2))}
}

// maxChanges is how often a message is changed at most.
const maxChanges = 4

// Next returns a message, which is there until the next call. Some are good.
func (g *Garbler) Next() []byte {
	g.b = append(g.b[:0], g.any()...)
	for range g.random.IntN(maxChanges + 1) {
		changes[g.random.IntN(len(changes))](g)
	}
	return g.b
}

// any is one of the good messages.
func (g *Garbler) any() []byte { return g.good[g.random.IntN(len(g.good))] }

// at is a place in the message, perhaps its end.
func (g *Garbler) at() int { return g.random.IntN(len(g.b) + 1) }

// part is the bounds of a short part of the message.
func (g *Garbler) part() (from, to int) {
	from = g.at()
	return from, from + g.random.IntN(min(len(g.b)-from, 16)+1)
}

// words are what decoders may stumble on: bounds of numbers, and JSON.
var words = [][]byte{
	{0}, {0x7f}, {0x80}, {0xff}, {0, 0, 0, 0}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0},
	{0xff, 0xff, 0xff, 0xff},
	[]byte(`null`), []byte(`-1`), []byte(`1e999`), []byte(`18446744073709551616`), []byte(`"`),
	[]byte(`\ud800`), []byte(`{`), []byte(`[`), []byte(`}`), []byte(`]`),
	[]byte(`,`), []byte(`:`), []byte(`{}`), []byte(`[0]`), []byte(`""`), bytes.Repeat([]byte(`[`), 200),
}

var changes = []func(*Garbler){
	func(g *Garbler) { // another bit
		if len(g.b) > 0 {
			g.b[g.random.IntN(len(g.b))] ^= 1 << g.random.IntN(8)
		}
	},
	func(g *Garbler) { // another byte
		if len(g.b) > 0 {
			g.b[g.random.IntN(len(g.b))] = byte(g.random.Uint32())
		}
	},
	func(g *Garbler) { g.b = g.b[:g.at()] }, // its beginning
	func(g *Garbler) { // without a part
		from, to := g.part()
		g.b = append(g.b[:from], g.b[to:]...)
	},
	func(g *Garbler) { // with a part twice
		from, to := g.part()
		g.insert(to, bytes.Clone(g.b[from:to]))
	},
	func(g *Garbler) { g.insert(g.at(), words[g.random.IntN(len(words))]) },
	func(g *Garbler) { // with a word in place of what there was
		word := words[g.random.IntN(len(words))]
		copy(g.b[g.at():], word)
	},
	func(g *Garbler) { // with the end of another one
		other := g.any()
		g.b = append(g.b[:g.at()], other[g.random.IntN(len(other)+1):]...)
	},
}

func (g *Garbler) insert(at int, what []byte) {
	end := append(bytes.Clone(what), g.b[at:]...)
	g.b = append(g.b[:at], end...)
}
