package narrate

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestPartsOfSource: every line that is at most aroundPlace from a place is in one part, no other
// is in any, and parts are in order and do not meet.
func TestPartsOfSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := make([]string, rapid.IntRange(1, 500).Draw(t, "lines"))
		for i := range lines {
			lines[i] = fmt.Sprint(i + 1)
		}
		f := linesOf{name: "a.go", at: map[int]bool{}}
		wanted := map[int]bool{}
		for _, at := range rapid.SliceOfN(rapid.IntRange(1, 600), 0, 5).Draw(t, "at") {
			f.at[at] = true
			for line := max(1, at-aroundPlace); line <= at+aroundPlace; line++ {
				if at <= len(lines) && line <= len(lines) {
					wanted[line] = true
				}
			}
		}
		end := -1
		for _, part := range f.parts(lines) {
			if part.File != "a.go" || part.First <= end+1 {
				t.Fatalf("part %q begins at %d, the last one ends at %d", part.File, part.First, end)
			}
			for i, line := range part.Lines {
				if line != fmt.Sprint(part.First+i) || !wanted[part.First+i] {
					t.Fatalf("line %d of the part at %d is %q", i, part.First, line)
				}
				delete(wanted, part.First+i)
			}
			end = part.First + len(part.Lines) - 1
		}
		if len(wanted) > 0 {
			t.Fatalf("missing: %v", wanted)
		}
	})
}
