package store

import "github.com/tandem-mc/tandem/ckptd/internal/wire"

// Status lists the images of each group. One that is being written is not listed. Bytes are exact,
// if that takes a look at all images.
func (s *Store) Status(of *wire.Status) map[uint64][]wire.ImageStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed > 0 {
		s.weighAll()
	}
	if used, err := s.Used(); err == nil {
		of.Bytes = used + s.inMemory()
	}
	of.PeakBytes = s.peak
	images := map[uint64][]wire.ImageStatus{}
	for _, i := range s.images {
		if !i.taken.IsZero() {
			parent := ""
			if i.Parent != nil {
				parent = i.Parent.ID
			}
			images[i.group] = append(images[i.group], wire.ImageStatus{
				ID: i.ID, Parent: parent, Steps: i.Steps, Unrepeatable: i.Unrepeatable,
				Backend: i.Backend, Bytes: i.Bytes, Taken: i.taken, Uses: i.uses,
			})
		}
	}
	return images
}
