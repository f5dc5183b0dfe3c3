package dpor

// slab is memory that is given out piece by piece, and taken back all at once. What has been given
// out stays where it is.
type slab[T any] struct {
	chunk []T
	given int // elements since it was last emptied
}

// take gives out n elements, which may have been used before.
func (s *slab[T]) take(n int) []T {
	if cap(s.chunk)-len(s.chunk) < n {
		const least = 64
		// whoever has pieces of the one before keeps it
		s.chunk = make([]T, 0, max(2*cap(s.chunk), n, least))
	}
	from := len(s.chunk)
	s.chunk, s.given = s.chunk[:from+n], s.given+n
	return s.chunk[from : from+n : from+n]
}

// copy gives out a copy.
func (s *slab[T]) copy(list []T) []T {
	c := s.take(len(list))
	copy(c, list)
	return c
}

// empty takes everything back.
func (s *slab[T]) empty() { s.chunk, s.given = s.chunk[:0], 0 }
