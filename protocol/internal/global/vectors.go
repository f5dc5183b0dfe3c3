package global

import (
	"errors"
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// vectorWorker expands states that are vectors, for one goroutine. A transition is an addition to
// the vector: what to add depends on the local state and the event only, so it is computed once. It
// visits the same transitions as a worker, in the same order.
type vectorWorker struct {
	*worker
	layout *layout
	set    *space.Words
	moves  *moves
	vector space.Vector // that is expanded
	// candidates are successors that are not inserted yet, by shard, and whose step led to them.
	candidates [][]space.Candidate
	causes     [][]*move
}

// batch is how many successors of a shard are inserted together. The batches of all shards are to
// stay in the cache of a processor.
const batch = 16

// searchVectors searches with vectors, if the states fit into them. If a layout turns out to be too
// narrow, the search begins again with a wider one. The table has what handlers do, so that costs
// little. The result is nil if there is no layout.
func searchVectors(c *Config) (*Result, error) {
	// Channels are no sets, and a cut changes all nodes at once. Selections need the messages.
	if c.Ordered || c.Faults.Partitions != 0 || c.Select != nil || c.Within != nil || c.DepthFirst {
		return nil, nil
	}
	for log := uint(0); ; {
		l := newLayout(c, log)
		if l == nil || log > maxLog {
			return nil, nil
		}
		r, err := l.search(c)
		switch {
		case errors.Is(err, errCounter):
			log++
		case !errors.Is(err, errNarrow):
			return r, err
		}
		// What was visited is garbage. It must not count when memory is measured.
		runtime.GC()
	}
}

// search searches breadth first.
func (l *layout) search(c *Config) (*Result, error) {
	set := space.NewWords(c.shards(), l.words)
	s := &search{Config: c, visited: set}
	w := s.newWorker()
	// The states at the start are few, and made as for any search.
	w.insert = func() (space.Ref, bool, error) {
		v, err := l.encode(&w.next)
		if err != nil {
			return space.None, false, err
		}
		var list [1]space.Candidate
		shard := set.Set(&list[0], &v, space.None)
		err = set.Insert(shard, list[:])
		return list[0].At, list[0].IsNew, err
	}
	err := w.first()
	if err == nil {
		workers := make([]expands, s.Workers)
		for i := range workers {
			workers[i] = l.newWorker(s, set)
		}
		err = s.breadthFirst(workers)
	}
	// States of a run are looked at as bytes, by which Walk knows them.
	return s.result(w, err, func(at space.Ref) ([]byte, space.Ref) {
		v := set.State(at)
		l.decode(&w.next, &v)
		return w.pack(nil, &w.next), set.Parent(at)
	})
}

// newWorker returns a worker that has seen nothing of the table.
func (l *layout) newWorker(s *search, set *space.Words) *vectorWorker {
	w := &vectorWorker{worker: s.newWorker(), layout: l, set: set}
	w.moves = &moves{layout: l, config: s.Config, reader: w.reader}
	w.moves.init()
	w.candidates = make([][]space.Candidate, set.Shards())
	w.causes = make([][]*move, set.Shards())
	w.cur.locals = make([]table.Local, l.config.Nodes)
	return w
}

// settle inserts what is left of a level.
func (w *vectorWorker) settle() error {
	for shard := range w.candidates {
		if err := w.insertAll(shard); err != nil {
			return err
		}
	}
	return nil
}

// expandRange expands all states of a part of a level.
func (w *vectorWorker) expandRange(p part) error {
	defer w.flush()
	for states := w.set.Range(p.shard, p.from, p.end); ; {
		at, v, ok := states.Next()
		if !ok {
			return nil
		}
		w.at, w.vector, w.steps = at, v, 0
		if err := w.expandVector(); err != nil {
			return err
		}
	}
}

// expandVector visits all transitions from a state.
func (w *vectorWorker) expandVector() error {
	if err := w.pause(); err != nil {
		return err
	}
	for node, f := range w.layout.locals {
		w.cur.locals[node] = table.Local(f.get(&w.vector))
	}
	// What nodes do by themselves comes first, then messages in the order of their numbers.
	for node, local := range w.cur.locals {
		own, err := w.moves.own(node, local)
		if err != nil {
			return err
		}
		if err := w.take(own.moves); err != nil {
			return err
		}
		if own.quorums {
			list, err := w.moves.gathered(node, local, own, &w.vector)
			if err != nil {
				return err
			}
			if err := w.take(list); err != nil {
				return err
			}
		}
	}
	if err := w.arrivals(); err != nil {
		return err
	}
	w.counted += int64(w.steps)
	// Nothing can happen any more.
	if w.steps == 0 && w.JudgeEnd != nil {
		if property := w.JudgeEnd(w.classesOf(&w.cur)); property >= 0 {
			return w.endAt(&finding{Violation: Violation{Property: property}, at: w.at})
		}
	}
	return nil
}

// arrivals delivers each message.
func (w *vectorWorker) arrivals() error {
	for word := range w.layout.words {
		rest := w.layout.present(&w.vector, word)
		for ; rest != 0; rest &= rest - 1 {
			d, err := w.moves.delivery(w.layout.message(word, rest), w.cur.locals)
			if err != nil {
				return err
			}
			if err := w.take(d.moves); err != nil {
				return err
			}
		}
	}
	return nil
}

// take visits the transitions of an event.
func (w *vectorWorker) take(list []move) error {
	v := &w.vector
	for i := range list {
		m := &list[i]
		// The bounds on faults are those of the run.
		if m.spends != 0 && w.layout.left[m.spends-1].get(v) == 0 {
			continue
		}
		w.steps++
		if m.fails {
			violation := Violation{Property: -1, Failure: m.step.Outcome.Failure}
			return w.endAt(&finding{violation, w.at, m.step})
		}
		if v[0]&m.full[0]|v[1]&m.full[1]|v[2]&m.full[2] != 0 {
			return errCounter
		}
		next := space.Vector{(v[0] + m.add[0]) | m.or[0], (v[1] + m.add[1]) | m.or[1],
			(v[2] + m.add[2]) | m.or[2]}
		if next == *v {
			continue // what changes nothing leads to nothing new
		}
		if err := w.propose(&next, m); err != nil {
			return err
		}
	}
	return nil
}

// propose keeps a successor until there are enough of its shard.
func (w *vectorWorker) propose(next *space.Vector, m *move) error {
	var c space.Candidate
	shard := w.set.Set(&c, next, w.at)
	w.candidates[shard] = append(w.candidates[shard], c)
	w.causes[shard] = append(w.causes[shard], m)
	if len(w.candidates[shard]) < batch {
		return nil
	}
	return w.insertAll(shard)
}

// insertAll inserts the successors of a shard, and judges those that are new.
func (w *vectorWorker) insertAll(shard int) error {
	list, causes := w.candidates[shard], w.causes[shard]
	w.candidates[shard], w.causes[shard] = list[:0], causes[:0]
	if err := w.set.Insert(shard, list); err != nil {
		return err
	}
	for i := range list {
		if !list[i].IsNew || !causes[i].judged {
			continue
		}
		// Few steps change the class of a node.
		w.layout.decodeLocals(&w.next, &list[i].State)
		node := causes[i].step.Node
		if is := w.reader.State(node, w.next.locals[node]); is.Failure != "" {
			violation := Violation{Property: -1, Failure: is.Failure}
			return w.end(&finding{Violation: violation, at: list[i].At}, "", nil)
		}
		if err := w.judgeState(list[i].At, &w.next); err != nil {
			return err
		}
	}
	return nil
}

// endAt ends the search, unless a successor that was met before has a violation.
func (w *vectorWorker) endAt(f *finding) error {
	w.counted += int64(w.steps)
	if err := w.settle(); err != nil {
		return err
	}
	return w.end(f, "", nil)
}
