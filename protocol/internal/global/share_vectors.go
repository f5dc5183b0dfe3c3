package global

import (
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

func (f *vectorForm[V]) lookLocals(at space.Ref, s *system.State) {
	v := f.State(at)
	f.layout.DecodeLocals(s, &v)
}

func (f *vectorForm[V]) eachMoved(shard int, from, end uint64, visit func(space.Ref, uint8) error) error {
	for states := f.Range(shard, from, end); ; {
		at, v, _, node := states.Next()
		if v == nil {
			return nil
		}
		if err := visit(at, node); err != nil {
			return err
		}
	}
}

// expandShared leaves out steps that commute as expandRange does. The state before is in the set,
// or has come with the state.
func (w *vectorWorker[V]) expandShared(at space.Ref, before *system.State) (err error) {
	v, parent, node := w.set.Whole(at)
	w.below = 0
	switch {
	case node == 0:
	case before != nil:
		w.parent = space.None
		if w.before, err = w.layout.Encode(before); err != nil {
			return err
		}
		w.below = 1<<(node-1) - 1
	case parent != space.None:
		w.below = 1<<(node-1) - 1
		if parent != w.parent {
			w.parent, w.before = parent, w.set.State(parent)
		}
	}
	return w.expandVector(at, &v)
}
