package timers

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// texts has a text for each image, and "" for others.
type texts map[string]string

func (t texts) TypedText(image []byte) string { return t[string(image)] }

// TestAgainstSet: a list has what a set has, in the order of the texts, whatever the bytes are. It
// is read as it was written.
func TestAgainstSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"", "a", "b", "c", "dd"}
		by := texts{}
		for i, text := range rapid.Permutation([]string{"one", "two", "three", "", ""}).Draw(t, "texts") {
			by[names[i]] = text
		}
		var list []string
		set := map[string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "timer")
			if rapid.Bool().Draw(t, "set") {
				list, set[name] = Set(list, name, by), true
			} else {
				list = Stop(list, name, by)
				delete(set, name)
			}
		}
		if len(list) != len(set) {
			t.Fatalf("%q, want %v", list, set)
		}
		for i, name := range list {
			if !set[name] || i > 0 && by[list[i-1]] > by[name] {
				t.Fatalf("%q, want %v in the order of %v", list, set, by)
			}
		}
		again := Sort(append(slices.Clone(list), list...), by)
		if !slices.Equal(again, list) {
			t.Fatalf("sorted it is %q, and not %q", again, list)
		}
		read, rest := Read(append(Append([]byte{}, list), "rest"...))
		if !slices.Equal(read, list) || string(rest) != "rest" {
			t.Fatalf("%q is read as %q, and %q after it", list, read, rest)
		}
	})
}
