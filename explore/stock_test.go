package explore

import (
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
)

// TestStock: steps that are equal are one, whatever else is known of them outside trees, and none of those is the caller's.
func TestStock(t *testing.T) {
	accesses := []Access{{Object: 1, Kind: Write, Ready: model.ReadyShared, Delta: -1, Count: 2}}
	first := step{Action: Action{Goroutine: 7, Choice: 1}, Accesses: accesses, marks: guessed | needed}
	k := &stock{}
	one := k.step(&first, nil)
	same := first
	same.marks = guessed | open
	if k.step(&same, nil) != one || k.step(&same, one) != one || len(k.all) != 1 {
		t.Errorf("a step is there twice: %v", k.all)
	}
	if likely := one.clone(); k.step(&same, likely) != likely {
		t.Error("a step is looked for although it is the likely one")
	}
	accesses[0].Object = 2
	if one.Accesses[0].Object != 1 {
		t.Error("a step in stock changes with the caller's")
	}
	accesses[0].Object = 1
	for name, change := range map[string]func(*step){
		"goroutine":   func(s *step) { s.Goroutine++ },
		"choice":      func(s *step) { s.Choice++ },
		"a guess":     func(s *step) { s.marks = 0 },
		"no accesses": func(s *step) { s.Accesses = nil },
		"one more":    func(s *step) { s.Accesses = append(s.Accesses, Access{Object: 3}) },
		"object":      func(s *step) { s.Accesses[0].Object++ },
		"kind":        func(s *step) { s.Accesses[0].Kind = Read },
		"ready":       func(s *step) { s.Accesses[0].Ready = 0 },
		"delta":       func(s *step) { s.Accesses[0].Delta++ },
		"count":       func(s *step) { s.Accesses[0].Count++ },
	} {
		other := first.clone()
		change(other)
		known := len(k.all)
		if got := k.step(other, one); got == one || !got.equal(&step{Action: other.Action, Accesses: other.Accesses, marks: other.marks & guessed}) || len(k.all) != known+1 {
			t.Errorf("%s: %v is in stock as %v", name, *other, *got)
		}
	}
}

// TestStockFull: what has the hash of another one, or comes when no more are kept, is right nevertheless.
func TestStockFull(t *testing.T) {
	k, other := &stock{}, step{Action: Action{Goroutine: 2}}
	s := step{Action: Action{Goroutine: 1}}
	k.add(s.hash(), &other)
	if got := k.step(&s, nil); got.Goroutine != 1 || len(k.all) != 1 {
		t.Errorf("%v is in stock as %v", s, *got)
	}
	k = &stock{}
	for i := range maxStock + 10 {
		s := step{Action: Action{Goroutine: GoroutineID(i)}}
		one := k.step(&s, nil)
		if one.Goroutine != s.Goroutine || k.step(&s, nil) != one {
			t.Fatalf("step %d is in stock as %v", i, *one)
		}
	}
	if len(k.all) != 10 {
		t.Errorf("%d steps are kept after %d", len(k.all), maxStock+10)
	}
}
