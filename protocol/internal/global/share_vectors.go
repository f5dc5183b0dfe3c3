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

// expandShared leaves out steps that commute as expandRange does.
func (w *vectorWorker[V]) expandShared(at space.Ref, before *system.State) (err error) {
	v, _, node := w.set.Whole(at)
	if w.below = 0; node > 0 && w.Select == nil {
		w.parent, w.below = space.None, 1<<(node-1)-1
		if w.before, err = w.layout.Encode(before); err != nil {
			return err
		}
	}
	return w.expandVector(at, &v)
}
