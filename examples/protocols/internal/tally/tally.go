// Package tally has nodes wait for a number of answers, in two forms: they are taken all at once,
// by a quorum transition, or counted one by one. Answers of a finished wait come too late. In the
// first form they stay in the network, since a transition waits for them that never has enough: to
// throw one away would be a step that changes nothing, and doubles the states. In the second they
// are ignored.
package tally

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/protocol"
)

// Wait is what a node waits for in its present state.
type Wait struct {
	Name string
	Size int
	// For says whether a message is one of the answers.
	For func(message any) bool
	// Handle has the answers in the order of their senders, from which there is one each.
	Handle func(env *protocol.Env, set []protocol.Message)
}

// Tally is the part of a node that counts.
type Tally struct {
	Quorums bool
	// Held are the answers that were counted so far, by the name of the wait and the sender.
	Held map[string]map[protocol.ID]any
}

// New counts in one of the forms.
func New(quorums bool) Tally {
	return Tally{quorums, map[string]map[protocol.ID]any{}}
}

// Transitions are the quorum transitions of a node that waits. IsAnswer is true of all answers,
// late ones included.
func (t *Tally) Transitions(waits []Wait, isAnswer func(message any) bool) []protocol.Quorum {
	if !t.Quorums {
		return nil
	}
	list := []protocol.Quorum{{
		Name: "late",
		Waits: func(_ protocol.ID, m any) bool {
			return isAnswer(m) && !slices.ContainsFunc(waits, func(w Wait) bool { return w.For(m) })
		},
		Enough: func([]protocol.Message) bool { return false },
		Handle: func(*protocol.Env, []protocol.Message) {},
	}}
	for _, w := range waits {
		list = append(list, protocol.Quorum{
			Name:  w.Name,
			Waits: func(_ protocol.ID, m any) bool { return w.For(m) },
			Size:  w.Size,
			Handle: func(env *protocol.Env, set []protocol.Message) {
				w.Handle(env, sorted(set))
			},
		})
	}
	return list
}

// Count takes one answer, and handles all of them when there are enough.
func (t *Tally) Count(env *protocol.Env, waits []Wait, from protocol.ID, message any) {
	i := slices.IndexFunc(waits, func(w Wait) bool { return w.For(message) })
	if i < 0 {
		return // too late
	}
	w := waits[i]
	if t.Held[w.Name] == nil {
		t.Held[w.Name] = map[protocol.ID]any{}
	}
	held := t.Held[w.Name]
	held[from] = message
	if len(held) < w.Size {
		return
	}
	delete(t.Held, w.Name)
	var set []protocol.Message
	for _, from := range slices.Sorted(maps.Keys(held)) {
		set = append(set, protocol.Message{From: from, Body: held[from]})
	}
	w.Handle(env, set)
}

// sorted is a set in the order of the senders.
func sorted(set []protocol.Message) []protocol.Message {
	return slices.SortedFunc(slices.Values(set), func(a, b protocol.Message) int {
		return cmp.Compare(a.From, b.From)
	})
}
