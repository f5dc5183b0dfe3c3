package memory

import (
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// An image has to have such content itself. The daemon has a descriptor of the object, so that the
// copies go on to map the very same one, and notes its pages; images share those that have not
// changed.

// heldObjects are what the processes of an image share, or have open, and what has no name: memory
// and deleted files. Neither a fork nor the tree of files has their content.
type heldObjects struct {
	table *objects.Table // of the group
	fresh int64          // bytes of the contents that no earlier image holds; set by save

	mu  sync.Mutex // files and mappings are looked at side by side
	all []heldObject
}

// heldObject is an object with the content that an image has of it.
type heldObject struct {
	*objects.Object
	contents *objects.Contents // nil until it is saved
}

// hold holds the object that a path of /proc leads to, once, however many paths there are. Several
// processes may have it, each at a path of its own.
func (h *heldObjects) hold(path string) (*objects.Object, error) {
	o, err := h.table.Acquire(path)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, known := range h.all {
		if known.Object == o {
			h.table.Release(o)
			return o, nil
		}
	}
	h.all = append(h.all, heldObject{Object: o})
	return o, nil
}

// holdMapped holds what processes have mapped and has no name. The mapping knows its object from
// then on: a child may have to map that anew.
func (h *heldObjects) holdMapped(frozen []*process.Frozen) error {
	for _, p := range frozen {
		for _, m := range p.Memory.Unnamed {
			o, err := h.hold(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.PID, m.From, m.End()))
			if err != nil {
				return incarnation.Refuse("shared memory of process %d at %#x %s: %w", p.PID, m.From, m.Name,
					err)
			}
			m.Object = o
		}
	}
	return nil
}

// save notes what the objects hold, while nobody writes to them. Nobody else uses the image yet.
func (h *heldObjects) save() error {
	for n := range h.all {
		c, fresh, err := h.all[n].Save()
		if err != nil {
			return err
		}
		h.all[n].contents = c
		h.fresh += fresh
	}
	return nil
}

// putBack gives all objects the content that they had. Nobody runs who could see it.
func (h *heldObjects) putBack() error {
	for _, o := range h.all {
		if err := o.PutBack(o.contents); err != nil {
			return err
		}
	}
	return nil
}

// release lets go of the objects. Those that no other image holds end, once no process has them. It
// may be called twice.
func (h *heldObjects) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.all {
		h.table.Release(o.Object)
	}
	h.all = nil
}
