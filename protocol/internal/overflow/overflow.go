// Package overflow is a part of a search breadth first that several processes do. Its states are in
// memory as long as they have room there, and in files from then on. What it says to others is the
// same in both cases: how many states a level has, what is handed on, which states are known.
//
// In files it does what a search by one process does (package external). A level is expanded in
// chunks; what they reach is told apart late, by a merge of sorted runs. There are two sets of
// states that were visited: own ones, and those of others that were handed on, so that each is
// handed on once. What others have reached comes between two levels. These states are candidates
// like those that were reached here, and stand behind them.
//
//	Expand    chunks of the level: own candidates, and those of others
//	          merge with what was handed on: hand on what is new
//	Receive   more own candidates
//	Begin     merge with all own states: what is new is the next level
//
// So each level costs one pass through each of the two sets, as long as no checkpoint is written
// in between.
//
// # Exactness
//
// Keys are whole states, as package system packs them, so what is found to be new is new. That a
// state belongs to this share follows from the state. So a state of this share is never among the
// others, and each of the two sets can be looked at by itself.
//
// What is handed on is what a share in memory would hand on: each state of others once, with the
// state and the node that have led there first. Steps that commute are left out as there, which
// needs the state that each state was reached from. For own states that is a place in the level
// before. What came with a received state is written into a list. Both are read once, from the
// beginning to the end, since the states of a level lie in the order of what they came from.
//
// # Memory
//
// What is in memory is the chunk with all that it reaches, what is sorted at the moment, the young
// states of both sets, one bit for each candidate of a level, and what handlers do. The last is
// bounded by the model alone. Batches that wait (package apart) go to files of the same directory.
//
// # Checkpoints
//
// Files have no names, and end with the process. What is written for others is states: own ones
// level by level, and those of others. It is read from the files, so it takes no memory. States in
// memory are written in another form (package global), which is smaller and faster. A share that
// has gone to files begins anew, and whoever keeps what it writes forgets what was written before.
package overflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config says what a share is of.
type Config struct {
	// Global is the search. If it has no Disk, all states are in memory.
	Global global.Config
	Whose  global.ShareConfig
	// HasCheckpoints: WriteStates will be called.
	HasCheckpoints bool
}

// Share is the part of a search that one process does: a global.Share, or one in files.
type Share struct {
	Config
	// dir is where files are, also those of batches; nil: there are none.
	dir    *external.Dir
	memory *global.Share // all states, or those of a chunk
	files  *files        // nil: all states are in memory
	levels int           // that have begun
	known  int           // states that were received for the next one, and were not new
	isAnew bool          // what was written is of no use any more
}

// New begins with the own states among those in which a run may begin.
func New(c Config) (s *Share, err error) {
	s = &Share{Config: c}
	if err := s.open(); err != nil {
		return nil, err
	}
	if s.memory, err = global.NewShare(c.Global, c.Whose); err != nil {
		return nil, errors.Join(err, s.Release())
	}
	return s, nil
}

// open opens the directory. That files can be written there is to be known before there is
// something to write.
func (s *Share) open() (err error) {
	if d := s.Global.Disk; d != nil {
		sizes := d.Sizes
		sizes.Sort /= 2 // own candidates are sorted, and those of others
		if s.dir, err = external.Open(d.Directory, "", d.Bound, sizes); err != nil {
			return fmt.Errorf("%w; each machine with a part needs this directory", err)
		}
		if d.Write != nil {
			s.dir.Write = d.Write
		}
	}
	return err
}

// NewSpool is for bytes that wait; nil: there are no files.
func (s *Share) NewSpool() *external.Spool {
	if s.dir == nil {
		return nil
	}
	return external.NewSpool(s.dir)
}

// Begin begins the next level, and says how many own states it has, and how many of those that were
// received for it were known.
func (s *Share) Begin() (states, known int, err error) {
	s.levels++
	if s.files != nil {
		return s.files.begin()
	}
	known, s.known = s.known, 0
	return s.memory.Begin(), known, nil
}

// Expand expands the level, as global.Share does.
func (s *Share) Expand(hand global.Hand) (found *global.Found, reason string, err error) {
	if s.files == nil {
		found, reason, err = s.memory.Expand(hand)
		if !errors.Is(err, global.ErrFull) {
			return found, reason, err
		}
		// The level begins again there.
		if err := s.spill(); err != nil {
			return nil, "", err
		}
	}
	return s.files.expand(hand)
}

// Receive adds an own state that another one has reached, as global.Share does.
func (s *Share) Receive(before *system.State, isSame bool, state *system.State, node uint8) error {
	// Whoever has sent it has chosen another one, perhaps.
	state, err := s.memory.Chosen(state)
	if err != nil {
		return err
	}
	if s.files != nil {
		return s.files.receive(before, isSame, state, node)
	}
	isNew, err := s.memory.Receive(before, isSame, state, node)
	if err == nil && !isNew {
		s.known++
	}
	return err
}

// Tally is what was counted so far.
type Tally struct {
	global.Tally
	Disk int64 // the most bytes that the files had
}

// Tally is what this share has counted.
func (s *Share) Tally() Tally {
	t := Tally{Tally: s.memory.Tally()}
	if s.dir != nil {
		_, t.Disk = s.dir.Used()
	}
	if s.files != nil {
		t.Transitions += s.files.base.Transitions
		t.Reached |= s.files.base.Reached
	}
	return t
}

// Before returns the least digest of the states of a level that lead to one, as global.Share does.
func (s *Share) Before(level int, target uint64, mayLead func([]table.Local) bool) (digest uint64,
	locals []table.Local, ok bool, err error) {
	if s.files != nil {
		return s.files.before(level, target, mayLead)
	}
	return s.memory.Before(level, target, mayLead)
}

// IsAnew says whether WriteStates writes all states the next time, and not only those that are new:
// those that were written before have another form.
func (s *Share) IsAnew() bool { return s.isAnew }

// WriteStates writes the states that were not written before. It may be called between Expand and
// Begin.
func (s *Share) WriteStates(out io.Writer) error {
	s.isAnew = false
	if s.files != nil {
		return s.files.write(out)
	}
	return s.memory.WriteStates(out)
}

// Where the states of a share are that was written.
const (
	inMemory = iota
	inFiles
)

// AppendHead writes all but the states, when these were written.
func (s *Share) AppendHead(dst []byte) []byte {
	if s.files != nil {
		return s.files.appendHead(append(dst, inFiles))
	}
	return s.memory.AppendHead(append(dst, inMemory))
}

// Read goes on with a share that was written after so many levels: by its head, and by what all
// calls of WriteStates have written, from the last one on that wrote all.
func Read(c Config, levels int, head []byte, states *bufio.Reader) (s *Share, err error) {
	if len(head) == 0 {
		return nil, global.ErrKept
	}
	s = &Share{Config: c, levels: levels}
	if err := s.open(); err != nil {
		return nil, err
	}
	// A share that was in memory begins there again, and goes to files when it is full.
	where, head := head[0], head[1:]
	switch {
	case where > inFiles:
		err = global.ErrKept
	case where == inMemory:
		s.memory, err = global.ReadShare(c.Global, c.Whose, head, states)
	case s.dir == nil:
		err = errNoFiles
	default:
		if s.memory, err = global.NewShare(c.Global, c.Whose); err == nil {
			s.memory.Reset(true)
			s.files = newFiles(s)
			err = s.files.readAll(head, states)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Release())
	}
	return s, nil
}

// errNoFiles is of a checkpoint by a process that had a directory for files.
var errNoFiles = errors.New("the states of this part were in files: give all processes the same External")

// Release gives memory back, and removes the files.
func (s *Share) Release() error {
	if s.memory != nil {
		s.memory.Release()
	}
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}
