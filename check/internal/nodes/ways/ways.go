// Package ways keeps schedules that have led to events of a node, by the key of these. They are
// tried first when a node is to come there again. What arrives may be other than it was, so they
// are a guess, and only save executions.
package ways

import (
	"maps"

	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
)

// Ways are the schedules that an exploration knows. Copies share them. It is used by one goroutine
// at a time, but for those of parts.
type Ways struct {
	known map[string]lives.Lives
	// replaced has what was in the place of those that were found since the last mark; nil: nothing
	// was.
	replaced map[string]lives.Lives
	// fresh are those that a part has found. Its known are those before its batch, which several
	// parts may read at the same time. nil: this is no part.
	fresh map[string]lives.Lives
	// missed are the keys that a part has asked for in vain.
	missed map[string]bool
}

// New knows some schedules, which are copied.
func New(known map[string]lives.Lives) Ways {
	w := Ways{known: map[string]lives.Lives{}, replaced: map[string]lives.Lives{}}
	maps.Copy(w.known, known)
	return w
}

// All are the schedules that are known, by key. They must not be changed.
func (w *Ways) All() map[string]lives.Lives { return w.known }

// To is the schedule that leads to some events; nil: none is known.
func (w *Ways) To(key string) lives.Lives {
	if s, ok := w.fresh[key]; ok {
		return s
	}
	s := w.known[key]
	if s == nil && w.missed != nil {
		w.missed[key] = true
	}
	return s
}

// ToAny is the schedule that leads to the first of several lists of events. What a part has found
// by itself comes before what was known: then what it does depends on less.
func (w *Ways) ToAny(keys []string) lives.Lives {
	for _, key := range keys {
		if s, ok := w.fresh[key]; ok {
			return s
		}
	}
	for _, key := range keys {
		if s := w.To(key); s != nil {
			return s
		}
	}
	return nil
}

// Remember keeps a schedule in the place of what was there.
func (w *Ways) Remember(key string, schedule lives.Lives) {
	if w.fresh != nil {
		w.fresh[key] = schedule
		return
	}
	if _, noted := w.replaced[key]; !noted {
		w.replaced[key] = w.known[key]
	}
	w.known[key] = schedule
}

// Part is for an item of work that is done beside others: it changes nothing of w.
func (w *Ways) Part() Ways {
	return Ways{known: w.known, fresh: map[string]lives.Lives{}, missed: map[string]bool{}}
}

// Fresh are the schedules that a part has found, by key.
func (w *Ways) Fresh() map[string]lives.Lives { return w.fresh }

// Missed are the keys that a part has asked for in vain.
func (w *Ways) Missed() map[string]bool { return w.missed }

// Take takes over what a part has found.
func (w *Ways) Take(part *Ways) {
	for key, schedule := range part.fresh {
		w.Remember(key, schedule)
	}
}

// Mark is a time to which Before goes back.
type Mark struct{ replaced map[string]lives.Lives }

// Mark begins to note what is replaced from now on.
func (w *Ways) Mark() Mark {
	w.replaced = map[string]lives.Lives{}
	return Mark{w.replaced}
}

// Before is what was known at the last mark. It is a copy.
func (w *Ways) Before(m Mark) Ways {
	then := New(w.known)
	for key, was := range m.replaced {
		if then.known[key] = was; was == nil {
			delete(then.known, key)
		}
	}
	return then
}
