package narrate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/sut"
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

// TestCallsAround: the calls of an event are those of its goroutine's last arrival before it, from
// the operation on.
func TestCallsAround(t *testing.T) {
	details := &sut.Details{Arrivals: []sut.Arrival{
		{Goroutine: 7, At: 0, Stack: []uint64{10, 20, 30}},
		{Goroutine: 8, At: 1, Stack: []uint64{11, 21}},
		{Goroutine: 7, At: 4, Stack: []uint64{12, 22}},
	}}
	step := func(goroutine, pc, open uint64) sut.Event {
		return sut.Event{Kind: sut.Stepped, Subject: goroutine, PC: pc, Open: open}
	}
	begin := step(7, 1, 2)
	begin.Operation = sut.Begin
	access := step(7, 20, 20)
	access.Kind = sut.Accessed
	for name, c := range map[string]struct {
		e       sut.Event
		index   int
		details *sut.Details
		want    []uint64
	}{
		"an outer call performs it":       {step(7, 20, 20), 3, details, []uint64{20, 30}},
		"the innermost one does":          {step(8, 1, 21), 2, details, []uint64{1, 11, 21}},
		"the operation after":             {step(7, 12, 22), 4, details, []uint64{12, 22}},
		"another goroutine's":             {step(9, 1, 2), 4, details, []uint64{1, 2}},
		"no detail before":                {step(8, 1, 2), 0, details, []uint64{1, 2}},
		"the calls are of something else": {step(7, 1, 99), 5, details, []uint64{1, 99}},
		"a beginning":                     {begin, 5, details, []uint64{1, 2}},
		"no step":                         {access, 5, details, []uint64{20, 20}},
		"no details":                      {step(7, 20, 20), 3, nil, []uint64{20, 20}},
	} {
		p := newPlaces(&sut.Log{Details: c.details})
		if diff := cmp.Diff(c.want, p.around(&c.e, c.index)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
