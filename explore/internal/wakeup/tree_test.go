package wakeup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"pgregory.net/rapid"
)

// straight is a program without branches: for each goroutine what its steps access.
type straight [][]core.Access

// turn is the next step of a goroutine, after those of it that came before.
type turn = int

// steps are those of a sequence of turns.
func (p straight) steps(sequence []turn) (steps []trace.Step) {
	next := make([]int, len(p))
	for _, g := range sequence {
		steps = append(steps, trace.Step{Action: core.Action{Goroutine: core.GoroutineID(g + 1)},
			Accesses: p[g][next[g] : next[g]+1]})
		next[g]++
	}
	return steps
}

// sequence draws the beginning of an execution.
func (p straight) sequence(t *rapid.T) (sequence []turn) {
	next := make([]int, len(p))
	for range rapid.IntRange(1, 6).Draw(t, "length") {
		g := rapid.IntRange(0, len(p)-1).Draw(t, "goroutine")
		if next[g] < len(p[g]) {
			sequence = append(sequence, g)
			next[g]++
		}
	}
	return sequence
}

func dependent(a, b *trace.Step) bool {
	return a.Goroutine == b.Goroutine || core.Conflict(a.Accesses, b.Accesses)
}

// reversalOf is a sequence as a reversal.
func (p straight) reversalOf(sequence []turn) *Reversal {
	r := &Reversal{Whole: true, Steps: p.steps(sequence), Removed: make([]bool, len(sequence))}
	for i := range r.Steps {
		var before []int
		for j := range i {
			after := func(k int) bool { return k == j || slices.Contains(r.Before[k], j) }
			for k := range i {
				if after(k) && dependent(&r.Steps[k], &r.Steps[i]) {
					before = append(before, j)
					break
				}
			}
		}
		r.Before = append(r.Before, before)
	}
	return r
}

// equivalents are the sequences that come of exchanging independent neighbours, any number of
// times: what the order of events stands for, by definition.
func (p straight) equivalents(sequence []turn) [][]turn {
	all := [][]turn{sequence}
	seen := map[string]bool{fmt.Sprint(sequence): true}
	for n := 0; n < len(all); n++ {
		steps := p.steps(all[n])
		for i := 1; i < len(steps); i++ {
			if dependent(&steps[i-1], &steps[i]) {
				continue
			}
			other := slices.Clone(all[n])
			other[i-1], other[i] = other[i], other[i-1]
			if key := fmt.Sprint(other); !seen[key] {
				seen[key] = true
				all = append(all, other)
			}
		}
	}
	return all
}

// missing are the turns of one sequence that another one has not.
func (p straight) missing(from, in []turn) (turns []turn) {
	count := make([]int, len(p))
	for _, g := range from {
		count[g]++
	}
	for _, g := range in {
		if count[g]--; count[g] < 0 {
			turns = append(turns, g)
		}
	}
	return turns
}

// weakInitial reports whether a sequence, or a continuation of it, is equivalent to one that begins
// with a turn.
func (p straight) weakInitial(g turn, sequence []turn) bool {
	if !slices.Contains(sequence, g) {
		sequence = append(slices.Clone(sequence), g)
	}
	return slices.ContainsFunc(p.equivalents(sequence), func(s []turn) bool { return s[0] == g })
}

// consistent reports whether two sequences have equivalent continuations: those with what the
// other has suffice.
func (p straight) consistent(a, b []turn) bool {
	for _, restOfA := range permutations(p.missing(a, b)) {
		for _, s := range p.equivalents(slices.Concat(a, restOfA)) {
			if slices.Equal(s[:len(b)], b) {
				return true
			}
		}
	}
	return false
}

func permutations(s []turn) [][]turn {
	if len(s) == 0 {
		return [][]turn{nil}
	}
	var all [][]turn
	for i, first := range s {
		for _, rest := range permutations(slices.Delete(slices.Clone(s), i, i+1)) {
			all = append(all, append([]turn{first}, rest...))
		}
	}
	return all
}

// leaves are the ways to the leaves of a wakeup tree, in order.
func (w *Tree) leaves(way []turn) (all [][]turn) {
	for _, b := range w.Branches {
		to := slices.Clone(way)
		for _, s := range b.Steps {
			to = append(to, turn(s.Goroutine)-1)
		}
		if len(b.Below.Branches) == 0 {
			all = append(all, to)
		} else {
			all = append(all, b.Below.leaves(to)...)
		}
	}
	return all
}

// check compares a tree with the definition of wakeup trees: what comes before a leaf in
// the order, at any node on the way to it, is no weak initial of the rest of the way.
func (p straight) check(t *rapid.T, w *Tree) {
	leaves := w.leaves(nil)
	for i, leaf := range leaves {
		for _, earlier := range leaves[:i] {
			n := 0
			for n < len(leaf) && n < len(earlier) && leaf[n] == earlier[n] {
				n++
			}
			if n == len(leaf) || n == len(earlier) {
				t.Fatalf("%v is on the way to %v", earlier, leaf)
			}
			if p.after(leaf[:n]).weakInitial(earlier[n], leaf[n:]) {
				t.Fatalf("after %v, %d is a weak initial of %v: %v", leaf[:n], earlier[n], leaf[n:], leaves)
			}
		}
	}
}

// after is what is left of a program.
func (p straight) after(sequence []turn) straight {
	rest := slices.Clone(p)
	for _, g := range sequence {
		rest[g] = rest[g][1:]
	}
	return rest
}

// TestWakeupTrees inserts random sequences and compares with the definition (POPL 2014,
// section 6.2): the tree remains a wakeup tree, no leaf gets lost or out of order, and one of
// them has a continuation that is equivalent to one of the sequence.
func TestWakeupTrees(t *testing.T) {
	inserted, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		access := rapid.Custom(func(t *rapid.T) core.Access {
			return core.Access{Object: core.ObjectID(rapid.IntRange(1, 3).Draw(t, "object")),
				Kind: core.AccessKind(rapid.IntRange(0, 1).Draw(t, "kind"))}
		})
		p := straight(rapid.SliceOfN(rapid.SliceOfN(access, 1, 3), 2, 4).Draw(t, "program"))
		var w Tree
		mine := Owner{Interner: &Interner{}}
		for range rapid.IntRange(2, 8).Draw(t, "sequences") {
			sequence := p.sequence(t)
			if len(sequence) == 0 {
				continue
			}
			before := w.leaves(nil)
			r := p.reversalOf(sequence)
			found := w.Find(r, 0)
			isNew := !found.Covered
			if isNew {
				w.Insert(r, &found, &mine)
			}
			after := w.leaves(nil)
			p.check(t, &w)
			if old := slices.DeleteFunc(slices.Clone(after),
				func(leaf []turn) bool { return !contains(before, leaf) }); len(old) != len(before) ||
				!slices.EqualFunc(old, before, slices.Equal[[]turn]) {
				t.Fatalf("the leaves were %v and are %v", before, after)
			}
			if isNew != (len(after) == len(before)+1) {
				t.Fatalf("inserted: %v, but the leaves were %v and are %v", isNew, before, after)
			}
			if !slices.ContainsFunc(after, func(leaf []turn) bool { return p.consistent(sequence, leaf) }) {
				t.Fatalf("%v has been inserted, but is consistent with none of %v", sequence, after)
			}
			if isNew {
				inserted++
			} else {
				kept++
			}
		}
	})
	if inserted == 0 || kept == 0 {
		t.Errorf("%d sequences made a branch, %d were there", inserted, kept)
	}
}

func contains(all [][]turn, one []turn) bool {
	return slices.ContainsFunc(all, func(s []turn) bool { return slices.Equal(s, one) })
}

// TestIsQuiet: a branch is quiet after twice the longest time between two insertions below it, and
// not before the least time. A split changes nothing about that.
func TestIsQuiet(t *testing.T) {
	b := &Branch{Steps: []*trace.Step{{}, {}}, Since: 100}
	quietFrom := func(least int) int {
		n := b.Since
		for !b.IsQuiet(n, least) {
			n++
		}
		return n
	}
	for _, c := range []struct{ insert, least, want int }{
		{101, 8, 109}, {103, 8, 111}, {113, 8, 133}, {114, 8, 134}, {114, 100, 214}, {200, 8, 372},
	} {
		b.Insert(c.insert)
		if got := quietFrom(c.least); got != c.want {
			t.Errorf("after an insertion at %d: quiet from %d on, want %d", c.insert, got, c.want)
		}
	}
	// When it came is not known, so there is no gap before the first insertion.
	c := &Branch{Steps: b.Steps}
	if c.Insert(1000); c.Since != 1000 || c.Gap != 0 || !c.IsQuiet(1008, 8) {
		t.Errorf("after the first insertion: %d and %d", c.Since, c.Gap)
	}
	if c := b.split(1, &Owner{}); c.Since != b.Since || c.Gap != b.Gap {
		t.Errorf("split off: %d and %d", c.Since, c.Gap)
	}
}
