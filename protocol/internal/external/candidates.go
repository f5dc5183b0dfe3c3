package external

import "errors"

// Candidates are what a level has reached so far. Each is written twice: behind those that came
// before it, and into a sorter with its place in that order. So when the sorted ones have told
// which candidates are new, these can be read in their order.
type Candidates struct {
	// Sorter has the keys, with their places.
	Sorter *Sorter
	// Count is how many there are.
	Count uint64

	dir      *Dir
	file     *File // nil if there are none
	writer   *Writer
	sections []Section
}

// NewCandidates has none.
func NewCandidates(d *Dir) *Candidates { return &Candidates{Sorter: NewSorter(d), dir: d} }

// Add adds a candidate. The value is read again with the key, and has no meaning here.
func (c *Candidates) Add(key []byte, value uint64) error {
	if c.file == nil {
		c.file = c.dir.Create()
	}
	// A section was ended so that it could be kept.
	if c.writer == nil {
		c.writer = NewWriter(c.file, true)
	}
	if err := c.writer.Append(key, value); err != nil {
		return err
	}
	c.Count++
	return c.Sorter.Add(key, c.Count-1)
}

// Sections has all candidates in sections, which are in their order. More may be added afterwards,
// and make another section.
func (c *Candidates) Sections() ([]Section, error) {
	if c.writer == nil {
		return c.sections, nil
	}
	section, err := c.writer.End()
	if err != nil {
		return nil, err
	}
	c.sections, c.writer = append(c.sections, section), nil
	return c.sections, nil
}

// SetSections sets the candidates to those of some sections, which are in one file, and of some
// sorted runs.
func (c *Candidates) SetSections(sections, runs []Section) error {
	for _, s := range sections {
		if err := s.Check(true); err != nil {
			return err
		}
		c.file = s.File
		c.Count += s.Records
	}
	c.sections = sections
	return c.Sorter.SetRuns(runs)
}

// Each visits all candidates in their order.
func (c *Candidates) Each(visit func(key []byte, value uint64) error) error {
	sections, err := c.Sections()
	if err != nil {
		return err
	}
	for _, section := range sections {
		for r := NewReader(section, true); ; {
			ok, err := r.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := visit(r.Key, r.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bytes are how many the sections have.
func (c *Candidates) Bytes() (bytes int64) {
	for _, s := range c.sections {
		bytes += s.To - s.From
	}
	return bytes
}

// Needs is about how many bytes it takes to find out which candidates are new, and to write these
// once more, sorted and in order.
func (c *Candidates) Needs() int64 { return c.Bytes() + c.Sorter.Needs() }

// Empty forgets all candidates, for the next level. If files are kept, they stay until the next
// list of them is written: a search that goes on from the last one needs them.
func (c *Candidates) Empty() error {
	err := c.Sorter.Empty()
	if c.file != nil {
		err = errors.Join(err, c.file.Remove())
	}
	*c = Candidates{Sorter: c.Sorter, dir: c.dir}
	return err
}
