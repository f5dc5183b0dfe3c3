// Package modules finds the modules whose goroutines a check does not preempt, though it might
// matter.
package modules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tandem-mc/tandem/sut"
)

// Set collects the modules in which goroutines of the executions synchronised, or were
// started, though they are not preempted there. It is safe for concurrent use; nil collects
// nothing.
type Set struct {
	mu   sync.Mutex
	list map[string]bool
}

// add notes a module. It may be called by several executors at the same time.
func (m *Set) add(module string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.list == nil {
		m.list = map[string]bool{}
	}
	m.list[module] = true
}

// Line is a line of the report that names them and what opens them; empty if there are none.
// At most five are named, in the order of the alphabet.
func (m *Set) Line() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	const most = 5 // are named
	names := slices.Sorted(maps.Keys(m.list))
	if len(names) == 0 {
		return ""
	}
	more, shown := "", names[:min(most, len(names))]
	if n := len(names) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf(
		"goroutines also start or synchronise in %s%s, where they are not preempted: "+
			"--preempt-in %s/... changes that",
		strings.Join(shown, ", "), more, strings.Join(shown, "/...,"))
}

// Finder notes the modules of one executor's executions. It remembers the places that it
// has looked up.
// The table is direct-mapped: a collision costs one more look-up, and nothing is lost.
type Finder [1 << 10]uint64

// Note looks at events that have not been looked at.
func (f *Finder) Note(p *sut.Program, m *Set, events []sut.Event) {
	if m == nil {
		return
	}
	for i := range events {
		e := &events[i]
		if e.Kind != sut.Accessed && e.Kind != sut.Spawned {
			continue
		}
		known := &f[(e.PC^e.PC>>10)%uint64(len(f))]
		if *known == e.PC {
			continue
		}
		*known = e.PC
		if at, ok := p.Position(e.PC); ok && !p.IsOwn(at) {
			if module := p.Module(at); module != "" {
				m.add(module)
			}
		}
	}
}
