// Package external keeps states of a search in files: sorted runs of keys, merges of them, and
// lists in the order of the search. Of a key nothing is known but its bytes, and keys are compared
// as a whole. So what is found to be new is new.
//
// Duplicates are detected late (Korf: "Best-First Frontier Search with Delayed Duplicate
// Detection", AAAI 2004; Edelkamp, Jabbar, Sulewski: "Distributed Verification of Multi-threaded
// C++ Programs", PDMC 2007). All that a level has reached is sorted in parts that fit into memory.
// The parts are merged, and what was visited before is taken away in the same pass.
//
// A Dir has files. A File has sections. A section has records in blocks. A Sorter makes sorted
// sections, called runs, and a Merger reads several of them as one. Visited is the set of all keys,
// and Candidates are those that may have to be added to it.
//
// # A level
//
// The search expands a level, and adds what it reaches to the Candidates, in its order. The sorter
// of these writes a run each time that its memory is full. When the level is done, Merge gives all
// candidates in the order of their keys, and Visited.Add tells which of them are new. It does so by
// going through its own runs at the same time. What is told is the place of each new candidate in
// the order of the search. With that the candidates are read once more, by Each, and the new ones
// are the next level. Commit adds them to the visited keys, and Empty removes the files.
//
// So all files are written from the beginning to the end, and mostly read like that.
//
// # Costs
//
// Say that a level has c candidates, and that v keys were visited before. Then the level costs c
// keys written, twice, and read, twice. It costs up to v keys read, as few as c blocks if c is
// small. Runs are compacted, so each visited key is written a number of times that grows with the
// logarithm of v. All is sequential but for the blocks that are passed by.
//
// # Errors
//
// A WriteError is of a disk that is full, or that has gone. A DamagedError is of a file that has
// other bytes than were written. What is in memory then is still right, but what was to be done is
// not done, so the search ends. Files that are kept are left as the last list of them wants it.
//
// Nothing here is used by two goroutines at a time: workers expand states, and one of them, when
// all are at rest, does what has to do with files.
package external

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// Sizes are how much of something is in memory, or how many there are at a time.
//
// With tiny sizes a search does everything that a huge one does: spill, merge in several passes,
// and compact. That is what tests do.
type Sizes struct {
	// Table is the bytes of the states that are expanded together, with what they reach; Chunk is
	// how many are expanded together at first.
	Table int64
	Chunk int
	// Sort is the bytes that are sorted at a time, Spool those that a list may have before it
	// becomes a file. Young is how many states are kept before they become a run.
	Sort, Spool, Young int
	// Block is the bytes of the pieces of a file, each of which has a checksum.
	Block int
	// FanIn is how many runs are merged at a time, Runs how many of visited states there may be.
	FanIn, Runs int
}

// SizesFor are those for a bound on the memory of the whole program. All of them together are less
// than half of it, because the collector may need as much again as is in use, and the handlers need
// some. One bit for each candidate of a level comes on top.
func SizesFor(memory uint64) Sizes {
	bytes := int64(min(memory, 1<<42))
	small := func(part, most int64) int { return int(max(1<<10, min(bytes/part, most))) }
	return Sizes{Table: max(bytes/5, 1<<16), Chunk: 1 << 10, Sort: small(10, 1<<30),
		Spool: small(64, 1<<22), Young: small(1000, 1<<20), Block: small(1<<11, 1<<15), FanIn: 16, Runs: 6}
}

// NameFor returns the name of the directory for a search that is kept in a file; empty if it is not
// kept. Files of two directories are different searches. Left is that name if the file is not
// there: then nothing that has the name is wanted any more.
func NameFor(file string) (name, left string, err error) {
	if file == "" {
		return "", "", nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	name = fmt.Sprintf("%s-%08x.states", filepath.Base(path), crc32.ChecksumIEEE([]byte(path)))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		left = name
	}
	return name, left, nil
}

// Probe says at once if files could not be written in a directory. With a name, what is left there
// under that name is removed: it is of a search that was ended before it was kept.
func Probe(parent, name string) error {
	names := []string{"", name}
	if name == "" {
		names = names[:1]
	}
	for _, name := range names {
		d, err := Open(parent, name, 0, Sizes{})
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Dir has the files of one search. One goroutine uses it at a time, and all that belongs to it.
type Dir struct {
	Sizes Sizes
	// Pause is called each time a block is read or written. An error is returned to whoever reads
	// or writes; nil: it is not called.
	Pause func() error
	// GiveUp is asked each time a block is read or written only to have fewer runs: whether that
	// is to be given up. Nothing is lost by it; nil: it is not.
	GiveUp func() bool
	// Write writes to a file. Tests have it fail.
	Write func(file *os.File, data []byte) (int, error)

	path   string // of the files
	isKept bool   // files stay when the process ends
	bound  int64  // in bytes; zero is none
	// used is how many bytes all files have, most what that was at most.
	used, most int64
	// files are all that are open, by number; next is the number that was given last. Those that
	// are doomed are open as well.
	files  map[int]*File
	next   int
	doomed []*File
	lock   io.Closer // nil if files are not kept
}

// Open returns a directory for new files within another one, which must be there. Zero is no bound.
// With a name the files stay, and what was left there under that name is removed. Without, files
// have no name for long where the system allows that, so nothing is left if the process is killed.
func Open(parent, name string, bound uint64, sizes Sizes) (*Dir, error) {
	d, err := open(parent, name, bound, sizes)
	if err == nil && d.isKept {
		if err = d.removeOthers(); err != nil {
			err = errors.Join(err, d.Leave())
		}
	}
	return d, err
}

// open is Open, and removes nothing.
func open(parent, name string, bound uint64, sizes Sizes) (*Dir, error) {
	d := &Dir{Sizes: sizes, Write: (*os.File).Write, path: parent, isKept: name != "",
		bound: int64(min(bound, math.MaxInt64)), files: map[int]*File{}}
	err := d.open(name)
	if err != nil {
		return nil, fmt.Errorf("external search: %w", err)
	}
	return d, nil
}

// open makes what has to be there, and finds out whether files can be written: it writes one. That
// is better than to look at permissions, of which not all systems have the same ones.
func (d *Dir) open(name string) error {
	if d.isKept {
		d.path = filepath.Join(d.path, name)
		if err := os.Mkdir(d.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		var err error
		if d.lock, err = lock(filepath.Join(d.path, lockName)); err != nil {
			return err
		}
	}
	probe, err := d.create(0)
	if err == nil {
		_, err = probe.Write([]byte("x"))
		err = errors.Join(err, d.discard(probe))
	}
	if err != nil {
		return errors.Join(err, d.Leave())
	}
	return nil
}

// lockName is the file that says that somebody uses a directory.
const lockName = "lock"

// ErrLocked is of a directory that another check uses.
var ErrLocked = errors.New("another check uses these files: wait for it, or name another file to go on " +
	"from")

// create makes a file that can be read and written. One that is not kept has a name that nobody
// else has, as several checks may use the same directory.
func (d *Dir) create(number int) (*os.File, error) {
	if d.isKept {
		return os.OpenFile(d.nameOf(number), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	}
	file, err := os.CreateTemp(d.path, "tandem-*.states")
	if err == nil {
		// Not every system removes a file that is open. Then it is removed when it is closed.
		_ = os.Remove(file.Name())
	}
	return file, err
}

// nameOf is the name of a file that is kept.
func (d *Dir) nameOf(number int) string {
	return filepath.Join(d.path, strconv.Itoa(number)+".states")
}

// discard closes a file and removes it.
func (d *Dir) discard(file *os.File) error {
	err := file.Close()
	if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Used says how many bytes all files have, and how many they have had at most.
func (d *Dir) Used() (now, most int64) { return d.used, d.most }

// HasRoom says whether files may have so many bytes more. Whoever goes on where they have not gets
// them nevertheless: a search ends between two steps, and not in the middle of one.
func (d *Dir) HasRoom(bytes int64) bool {
	for _, f := range d.files {
		bytes += int64(len(f.tail))
	}
	return d.bound == 0 || d.used+bytes <= d.bound
}

// HasDoomed says whether Sweep would remove something.
func (d *Dir) HasDoomed() bool { return len(d.doomed) > 0 }

// Sweep removes the files that were not wanted any more. It is called when nothing that is kept
// elsewhere refers to them.
func (d *Dir) Sweep() error {
	var err error
	for _, f := range d.doomed {
		err = errors.Join(err, f.discard())
	}
	d.doomed = nil
	return err
}

// Leave closes all files. Those that are kept stay, and the next check may take the lock.
func (d *Dir) Leave() error {
	if !d.isKept {
		return d.Close()
	}
	var err error
	for _, f := range d.files {
		err = errors.Join(err, f.close())
	}
	return errors.Join(err, d.unlock())
}

// Close removes all files, and the directory if it was made for them. It may be called at any time,
// whatever has gone wrong before.
func (d *Dir) Close() error {
	var err error
	for _, f := range d.files {
		err = errors.Join(err, f.discard())
	}
	d.doomed = nil
	if !d.isKept || d.lock == nil {
		return err
	}
	return errors.Join(err, d.unlock(), os.RemoveAll(d.path))
}

// unlock lets others use the directory.
func (d *Dir) unlock() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// pause calls Pause.
func (d *Dir) pause() error {
	if d.Pause == nil {
		return nil
	}
	return d.Pause()
}
