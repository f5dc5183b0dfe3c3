package global

import (
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

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
