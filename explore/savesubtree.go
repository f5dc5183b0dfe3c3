package explore

import (
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// A subtree can be explored in another process, with the same build of this package:
//
//	written, err := SaveSubtree(subtree, here) // which was split off, and has explored nothing
//	there, err := ResumeSubtree(written, away) // in the other process: Next, Report, Next, ...
//	explored, err := SaveExplored(there)       // when it has ended, or is not to go on
//	err = TakeOver(subtree, explored)          // and then Search.Merge

// ErrNotPortable is the error for subtrees that can only be explored in this process.
var ErrNotPortable = errors.New("parts of this search cannot be explored by another process")

// Common is what the subtrees of a search have in common, which is most of what is written: what is
// left to do at the nodes before them. Each process has its own for each search, and needs none.
// It has what was in the last two subtrees. One goroutine at a time may use it.
type Common struct{ chunks codec.Chunks }

// SaveSubtree writes a subtree that has explored nothing. The error is ErrNotPortable.
func SaveSubtree(p *Subtree, c *Common) ([]byte, error) {
	s, portable := p.Search.(core.Portable)
	if !portable {
		return nil, ErrNotPortable
	}
	invariant.Check(p.Search.Counted().Executions == 0, "explore: a subtree is written that has begun")
	return c.chunks.Encode(func(e *codec.Encoder) {
		e.Number(stateVersion)
		s.SavePart(e)
	}), nil
}

// ResumeSubtree reads what SaveSubtree wrote. The error is a *StateError.
func ResumeSubtree(written []byte, c *Common) (p *Subtree, err error) {
	s, err := New(Config{})
	if err != nil {
		return nil, err
	}
	tree := s.core.(core.Portable)
	p = &Subtree{Search: tree}
	c.chunks.Decode(written, func(d *codec.Decoder) { err = decode(d, tree.ResumePart) })
	return p, err
}

// SaveExplored writes what a subtree has explored. It is called between Report and Next, and has to
// have explored something.
func SaveExplored(p *Subtree) ([]byte, error) {
	s, portable := p.Search.(core.Portable)
	if !portable {
		return nil, ErrNotPortable
	}
	invariant.Check(p.Search.Counted().Executions > 0,
		"explore: a subtree is written that has explored nothing")
	e := &codec.Encoder{}
	e.Number(stateVersion)
	before := core.Tally{Counts: p.Before}
	before.SaveCounts(e, "before")
	s.SaveExplored(e)
	return e.Data, nil
}

// TakeOver has a subtree take over what another process has explored of it, which is what
// SaveExplored returned. The error is a *StateError; then the subtree must not be merged.
func TakeOver(p *Subtree, explored []byte) error {
	s, portable := p.Search.(core.Portable)
	if !portable {
		return ErrNotPortable
	}
	return decode(&codec.Decoder{Data: explored}, func(d *codec.Decoder) {
		before := core.Tally{}
		before.ResumeCounts(d, "before")
		p.Before = before.Counts
		s.Explored(d)
		if p.Search.Counted().Executions == 0 {
			d.Fail("it is damaged: nothing was explored")
		}
	})
}

// decode reads something that was written with its version. The error is a *StateError.
func decode(d *codec.Decoder, read func(*codec.Decoder)) error {
	if version := d.Number(); d.Problem == "" && version != stateVersion {
		d.Fail("it is of version %d, and this program reads version %d", version, stateVersion)
	}
	if d.Problem == "" {
		read(d)
	}
	if len(d.Data) > 0 {
		d.Fail("%d bytes follow its end", len(d.Data))
	}
	if d.Problem != "" {
		return &StateError{fmt.Sprint(d.Problem)}
	}
	return nil
}
