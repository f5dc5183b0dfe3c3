package garble_test

import (
	"bytes"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/garble"
)

// TestGarbler: messages are many, mostly bad, sometimes good, and always the same.
func TestGarbler(t *testing.T) {
	const messages = 10_000
	good := [][]byte{[]byte(`{"Peers":[2,3]}`), []byte("\x74\x50\x01\x03"), {}}
	a, b := garble.New(good, 1, 2), garble.New(good, 1, 2)
	seen, unchanged := map[string]bool{}, 0
	for range messages {
		m := a.Next()
		if other := b.Next(); !bytes.Equal(m, other) {
			t.Fatalf("the same seed makes %q and %q", m, other)
		}
		for _, g := range good {
			if bytes.Equal(m, g) {
				unchanged++
			}
		}
		seen[string(m)] = true
	}
	if len(seen) < messages/3 || unchanged < messages/20 || unchanged > messages/2 {
		t.Errorf("of %d messages %d are different and %d good", messages, len(seen), unchanged)
	}
	if m := garble.New(good, 3, 4).Next(); bytes.Equal(m, garble.New(good, 5, 6).Next()) {
		t.Errorf("another seed makes %q, too", m)
	}
}
