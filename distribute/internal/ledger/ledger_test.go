package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// twin has lists of what has happened to each part.
type twin struct {
	happened       map[uint64][]string
	given          []uint64
	used, repeated int // executions
}

// part draws the number of a part, which may not have been given out.
func (w *twin) part(t *rapid.T) uint64 {
	return rapid.Uint64Range(0, uint64(len(w.given))+1).Draw(t, "part")
}

func (w *twin) is(p uint64, what string) bool { return slices.Contains(w.happened[p], what) }

// isOpen reports whether a part was given out, and is neither done nor withdrawn.
func (w *twin) isOpen(p uint64) bool {
	return w.is(p, "given") && !w.is(p, "done") && !w.is(p, "withdrawn")
}

func (w *twin) add(p uint64, what string) { w.happened[p] = append(w.happened[p], what) }

// counts is what has become of the parts.
func (w *twin) counts() Counts {
	count := func(what string) (n int) {
		for _, list := range w.happened {
			for _, h := range list {
				if h == what {
					n++
				}
			}
		}
		return n
	}
	return Counts{len(w.given), count("done"), count("withdrawn"), count("twice"), count("late"), w.used,
		w.repeated}
}

// finish finishes a part in both.
func (w *twin) finish(t *rapid.T, l *Ledger) {
	p, n := w.part(t), rapid.IntRange(0, 9).Draw(t, "executions")
	first, what := w.isOpen(p), "late"
	switch {
	case first:
		what = "done"
		w.used += n
	case w.is(p, "done"):
		what = "twice"
	}
	if !first {
		w.repeated += n
	}
	if got := l.Finish(p, n); got != first {
		t.Fatalf("the result of part %d is the first: %v, want %v", p, got, first)
	}
	w.add(p, what)
}

// compare compares both.
func (w *twin) compare(t *rapid.T, l *Ledger) {
	if got, want := l.Counts(), w.counts(); got != want {
		t.Fatalf("counts %+v, want %+v", got, want)
	}
	open := 0
	for _, p := range w.given {
		if w.isOpen(p) {
			open++
		}
		if got, want := l.Begun(p), w.is(p, "begun") && w.isOpen(p); got != want {
			t.Fatalf("part %d is begun: %v, want %v", p, got, want)
		}
	}
	if l.Counts().Open() != open {
		t.Fatalf("%d parts are open, want %d", l.Counts().Open(), open)
	}
}

// TestLedger compares a ledger with a twin that keeps lists.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		w := &twin{happened: map[uint64][]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"give": func(t *rapid.T) {
				p := l.Give()
				if slices.Contains(w.given, p) {
					t.Fatalf("part %d was given out twice", p)
				}
				w.given = append(w.given, p)
				w.add(p, "given")
			},
			"begin": func(t *rapid.T) {
				p := w.part(t)
				if l.Begin(p); w.isOpen(p) {
					w.add(p, "begun")
				}
			},
			"finish": func(t *rapid.T) { w.finish(t, &l) },
			"withdraw": func(t *rapid.T) {
				p := w.part(t)
				open := w.isOpen(p)
				if got := l.Withdraw(p); got != open {
					t.Fatalf("part %d was open: %v, want %v", p, got, open)
				}
				if open {
					w.add(p, "withdrawn")
				}
			},
			"": func(t *rapid.T) { w.compare(t, &l) },
		})
	})
}
