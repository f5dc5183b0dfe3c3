package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/peers"
)

// spec is how the description of a group travels, in a file without a name: this in JSON, a new
// line, and the contents of the group's files, one after the other. Within the JSON they would take
// about as long to read as a peer takes to start.
type spec struct {
	Group peers.Group // files without contents
	Sizes []int       // of the contents
}

// The contents, and a description that is longer than any that makes sense.
const maxSpec = peers.MaxContent + 1<<20

// EncodeSpec returns the pieces of a description. The contents are not copied.
func EncodeSpec(g peers.Group) ([][]byte, error) {
	s := spec{Group: g}
	s.Group.Files = slices.Clone(g.Files)
	pieces := [][]byte{nil}
	for i, f := range g.Files {
		s.Group.Files[i].Content = nil
		s.Sizes, pieces = append(s.Sizes, len(f.Content)), append(pieces, f.Content)
	}
	text, err := json.Marshal(s)
	pieces[0] = append(text, '\n')
	return pieces, err
}

// decodeSpec decodes a description, in whose memory the contents of its files stay. Errors wrap
// ErrInvalid.
func decodeSpec(b []byte) (peers.Group, error) {
	invalid := func(err error) (peers.Group, error) {
		return peers.Group{}, fmt.Errorf("%w: description of a group: %w", ErrInvalid, err)
	}
	var s spec
	decoder := json.NewDecoder(bytes.NewReader(b))
	if err := decoder.Decode(&s); err != nil {
		return invalid(err)
	}
	// What follows the JSON is not JSON, and is not copied.
	contents, ok := bytes.CutPrefix(b[decoder.InputOffset():], []byte("\n"))
	if !ok || len(s.Sizes) != len(s.Group.Files) {
		return invalid(fmt.Errorf("%d files and %d sizes, and %d bytes after them", len(s.Group.Files),
			len(s.Sizes), len(contents)))
	}
	for i, size := range s.Sizes {
		if size < 0 || size > len(contents) {
			return invalid(fmt.Errorf("file %d has %d bytes, of which %d are there", i, size, len(contents)))
		}
		// The capacity is cut, so that no file can grow into the next.
		s.Group.Files[i].Content, contents = contents[:size:size], contents[size:]
	}
	if len(contents) > 0 {
		return invalid(fmt.Errorf("%d bytes that belong to no file", len(contents)))
	}
	if err := s.Group.Validate(); err != nil {
		return invalid(err)
	}
	return s.Group, nil
}

// ReadSpec reads a description from a file.
func ReadSpec(fd int) (peers.Group, error) {
	b, err := readDescriptor(fd, maxSpec)
	if err != nil {
		return peers.Group{}, fmt.Errorf("description of a group: %w", err)
	}
	return decodeSpec(b)
}
