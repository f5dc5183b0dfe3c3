package kept

import "encoding/binary"

// Parts reads numbers and bytes with their lengths.
type Parts struct {
	In      []byte
	IsShort bool // something was missing
}

// Uint reads a number. If there is none, it is zero, and nothing is left.
func (p *Parts) Uint() uint64 {
	n, size := binary.Uvarint(p.In)
	if size <= 0 {
		p.In, p.IsShort = nil, true
		return 0
	}
	p.In = p.In[size:]
	return n
}

// Count reads how many there are of something that takes a byte at least.
func (p *Parts) Count() int {
	n := p.Uint()
	if n > uint64(len(p.In)) {
		p.In, p.IsShort = nil, true
		return 0
	}
	return int(n)
}

// Part reads bytes.
func (p *Parts) Part() []byte {
	n := p.Count()
	part := p.In[:n:n]
	p.In = p.In[n:]
	return part
}
