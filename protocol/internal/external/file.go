package external

import (
	"errors"
	"fmt"
	"os"
)

// File only grows. Its last bytes are in memory, and so is all of a small one. So a search with
// small levels does not touch the disk for each of them.
type File struct {
	dir    *Dir
	number int
	spool  int      // so many bytes may be in memory
	file   *os.File // nil while all bytes are in memory
	// flushed is how many bytes are in the file. The tail has those behind them.
	flushed int64
	tail    []byte
}

// Create returns an empty file.
func (d *Dir) Create() *File {
	d.next++
	f := &File{dir: d, number: d.next, spool: d.Sizes.Spool}
	d.files[f.number] = f
	return f
}

// size is how many bytes there are.
func (f *File) size() int64 { return f.flushed + int64(len(f.tail)) }

// append writes bytes behind the others.
func (f *File) append(data []byte) error {
	f.tail = append(f.tail, data...)
	if len(f.tail) < f.spool {
		return nil
	}
	return f.flush()
}

// flush writes what is in memory. What could not be written stays there, so it may be tried again.
func (f *File) flush() (err error) {
	d := f.dir
	if err := d.pause(); err != nil || len(f.tail) == 0 {
		return err
	}
	if f.file == nil {
		if f.file, err = d.create(f.number); err != nil {
			return &WriteError{d.path, err}
		}
	}
	n, err := d.Write(f.file, f.tail)
	f.flushed += int64(n)
	d.used += int64(n)
	d.most = max(d.most, d.used)
	f.tail = f.tail[:copy(f.tail, f.tail[n:])]
	if err != nil {
		return &WriteError{d.path, err}
	}
	return nil
}

// WriteError is of a file that could not be written, such as on a full disk. It says where, and
// what to do. What it wraps is the error of the system.
type WriteError struct {
	path string
	err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("external search: states could not be written: %v; make room in %s, or name a "+
		"directory on another disk", e.err, e.path)
}

func (e *WriteError) Unwrap() error { return e.err }

// sync has all bytes on the disk.
func (f *File) sync() error {
	if err := f.flush(); err != nil || f.file == nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return &WriteError{f.dir.path, err}
	}
	return nil
}

// readAt reads bytes that are there, from the file, from memory, or from both. If they are not,
// somebody has cut the file off.
func (f *File) readAt(data []byte, at int64) error {
	if at < f.flushed {
		n := min(int64(len(data)), f.flushed-at)
		if _, err := f.file.ReadAt(data[:n], at); err != nil {
			return f.damaged(at)
		}
		data, at = data[n:], at+n
	}
	if len(data) == 0 {
		return nil
	}
	if copy(data, f.tail[min(at-f.flushed, int64(len(f.tail))):]) < len(data) {
		return f.damaged(at)
	}
	return nil
}

// damaged is the error of a file that is not as it was written.
func (f *File) damaged(at int64) error {
	name := "a file without a name"
	if f.dir.isKept {
		name = f.dir.nameOf(f.number)
	}
	return &DamagedError{fmt.Sprintf("%s is damaged at byte %d", name, at)}
}

// DamagedError is of a file that has other bytes than were written.
type DamagedError struct{ what string }

func (e *DamagedError) Error() string { return "external search: " + e.what }

// Remove removes the file. If files are kept, that is put off until Sweep: what was written down of
// the search may still refer to it.
func (f *File) Remove() error {
	if f.dir.isKept && f.file != nil {
		f.tail = nil
		f.dir.doomed = append(f.dir.doomed, f)
		return nil
	}
	return f.discard()
}

// discard removes the file now.
func (f *File) discard() (err error) {
	delete(f.dir.files, f.number)
	f.dir.used -= f.flushed
	f.tail, f.flushed = nil, 0
	if f.file != nil {
		err = f.dir.discard(f.file)
		f.file = nil
	}
	return err
}

// close closes the file, which stays.
func (f *File) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// reopen opens a file that is kept, of which so many bytes are wanted. What is behind them is cut
// off.
func (d *Dir) reopen(number int, size int64) (*File, error) {
	f := &File{dir: d, number: number, spool: d.Sizes.Spool, flushed: size}
	file, err := os.OpenFile(d.nameOf(number), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("external search: %w", err)
	}
	f.file = file
	// A process that was killed has perhaps written more, and never less.
	info, err := file.Stat()
	if err == nil && info.Size() < size {
		err = f.damaged(info.Size())
	}
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil {
		_, err = file.Seek(size, 0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	d.files[number], d.next = f, max(d.next, number)
	d.used += size
	d.most = max(d.most, d.used)
	return f, nil
}
