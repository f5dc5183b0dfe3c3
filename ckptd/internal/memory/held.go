package memory

import (
	"fmt"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// held is an object with the content that an image has of it.
type held struct {
	*objects.Object
	contents *objects.Contents
}

// keep has the image hold the object that a path of /proc leads to.
func (m *Image) keep(path string) (*objects.Object, error) {
	o, err := m.group.objects.Take(path)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.held {
		if known.Object == o {
			m.group.objects.Give(o)
			return o, nil
		}
	}
	m.held = append(m.held, held{Object: o})
	return o, nil
}

// keepMapped has the image hold what processes have mapped and has no name.
func (m *Image) keepMapped(frozen []*process.Process) error {
	for _, p := range frozen {
		for _, k := range p.Unnamed {
			o, err := m.keep(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.PID, k.From, k.End()))
			if err != nil {
				return incarnation.Refuse("shared memory of process %d at %#x %s: %w", p.PID, k.From, k.Name,
					err)
			}
			k.Object = o
		}
	}
	return nil
}

// saveObjects notes what the objects hold.
func (m *Image) saveObjects() error {
	for n := range m.held {
		c, fresh, err := m.held[n].Save()
		if err != nil {
			return err
		}
		m.held[n].contents = c
		m.mu.Lock()
		m.fresh += fresh
		m.mu.Unlock()
	}
	return nil
}

// putBackObjects gives all objects of the image the content that they had. Nobody runs who could
// see it.
func (m *Image) putBackObjects() error {
	for _, h := range m.held {
		if err := h.PutBack(h.contents); err != nil {
			return err
		}
	}
	return nil
}

// releaseObjects lets go of the objects of the image.
func (m *Image) releaseObjects() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.held {
		m.group.objects.Give(h.Object)
	}
	m.held = nil
}
