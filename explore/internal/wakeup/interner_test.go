package wakeup

import (
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// TestStock: steps that are equal are one, whatever else is known of them outside trees, and none
// of those is the caller's.
func TestStock(t *testing.T) {
	accesses := []core.Access{{Object: 1, Kind: core.Write, Ready: core.ReadyShared, Delta: -1, Count: 2}}
	first := trace.Step{Action: core.Action{Goroutine: 7, Choice: 1}, Accesses: accesses,
		Marks: trace.Guessed | trace.Needed}
	k := &Interner{}
	one := k.intern(&first, nil)
	same := first
	same.Marks = trace.Guessed | trace.Open
	if k.intern(&same, nil) != one || k.intern(&same, one) != one || len(k.all) != 1 {
		t.Errorf("a step is there twice: %v", k.all)
	}
	if likely := one.Clone(); k.intern(&same, likely) != likely {
		t.Error("a step is looked for although it is the likely one")
	}
	accesses[0].Object = 2
	if one.Accesses[0].Object != 1 {
		t.Error("a step in stock changes with the caller's")
	}
	accesses[0].Object = 1
	for name, change := range map[string]func(*trace.Step){
		"goroutine":   func(s *trace.Step) { s.Goroutine++ },
		"choice":      func(s *trace.Step) { s.Choice++ },
		"a guess":     func(s *trace.Step) { s.Marks = 0 },
		"no accesses": func(s *trace.Step) { s.Accesses = nil },
		"one more":    func(s *trace.Step) { s.Accesses = append(s.Accesses, core.Access{Object: 3}) },
		"object":      func(s *trace.Step) { s.Accesses[0].Object++ },
		"kind":        func(s *trace.Step) { s.Accesses[0].Kind = core.Read },
		"ready":       func(s *trace.Step) { s.Accesses[0].Ready = 0 },
		"delta":       func(s *trace.Step) { s.Accesses[0].Delta++ },
		"count":       func(s *trace.Step) { s.Accesses[0].Count++ },
	} {
		other := first.Clone()
		change(other)
		known := len(k.all)
		if got := k.intern(other, one); got == one ||
			!got.Equal(&trace.Step{Action: other.Action, Accesses: other.Accesses,
				Marks: other.Marks & trace.Guessed}) || len(k.all) != known+1 {
			t.Errorf("%s: %v is in stock as %v", name, *other, *got)
		}
	}
}

// TestStockFull: what has the hash of another one, or comes when no more are kept, is right
// nevertheless.
func TestStockFull(t *testing.T) {
	k, other := &Interner{}, trace.Step{Action: core.Action{Goroutine: 2}}
	s := trace.Step{Action: core.Action{Goroutine: 1}}
	k.add(s.Hash(), &other)
	if got := k.intern(&s, nil); got.Goroutine != 1 || len(k.all) != 1 {
		t.Errorf("%v is in stock as %v", s, *got)
	}
	k = &Interner{}
	for i := range maxInterned + 10 {
		s := trace.Step{Action: core.Action{Goroutine: core.GoroutineID(i)}}
		one := k.intern(&s, nil)
		if one.Goroutine != s.Goroutine || k.intern(&s, nil) != one {
			t.Fatalf("step %d is in stock as %v", i, *one)
		}
	}
	if len(k.all) != 10 {
		t.Errorf("%d steps are kept after %d", len(k.all), maxInterned+10)
	}
}
