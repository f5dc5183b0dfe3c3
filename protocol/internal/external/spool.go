package external

import (
	"encoding/binary"
	"hash/crc32"
)

// Spool has pieces of bytes in a file until they are read again. Unlike records in blocks, pieces
// are read in any order. Each has a checksum of its own.
type Spool struct{ file *File }

// Piece is where one is.
type Piece struct {
	at   int64
	size int
}

// NewSpool is empty.
func NewSpool(d *Dir) *Spool { return &Spool{d.Create()} }

// Put writes a piece behind the others.
func (s *Spool) Put(data []byte) (Piece, error) {
	p := Piece{s.file.size(), len(data)}
	var sum [crc32.Size]byte
	binary.LittleEndian.PutUint32(sum[:], crc32.Checksum(data, castagnoli))
	err := s.file.append(sum[:])
	if err == nil {
		err = s.file.append(data)
	}
	return p, err
}

// Get reads a piece, into room if that is large enough.
func (s *Spool) Get(p Piece, room []byte) ([]byte, error) {
	if size := p.size + crc32.Size; cap(room) < size {
		room = make([]byte, size)
	}
	data := room[:p.size+crc32.Size]
	if err := s.file.readAt(data, p.at); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(data) != crc32.Checksum(data[crc32.Size:], castagnoli) {
		return nil, s.file.damaged(p.at)
	}
	return data[crc32.Size:], nil
}

// Remove removes the file.
func (s *Spool) Remove() error { return s.file.Remove() }
