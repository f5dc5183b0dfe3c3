package global

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tandem-mc/tandem/protocol/internal/external"
)

// A search on disk is kept between two chunks. What is written for it is only where it is, and a
// list of sections of files: of the levels, of the runs of visited states, and of the candidates of
// the present level, in order and sorted.

// keep has Config.Keep write the search as it was before the present chunk.
func (d *onDisk) keep(isLast bool) {
	if err := d.tryKeep(isLast); err != nil && isLast {
		d.reason += "; the search was not saved: " + err.Error()
	}
}

// keepNow keeps the search even if it is not yet time to. If that fails, it is tried again later.
func (d *onDisk) keepNow() { _ = d.tryKeep(true) }

// tryKeep removes the files that are not in the list any more when that is written.
func (d *onDisk) tryKeep(isLast bool) error {
	// A violation that was noted is not written.
	if d.Keep == nil || d.found != nil {
		return nil
	}
	isWritten := false
	err := d.Keep(isLast, func(out io.Writer) error {
		isWritten = true
		return d.write(out)
	})
	if err != nil || !isWritten {
		return err
	}
	d.isSaved = true
	return d.dir.Sweep()
}

// write writes the search.
func (d *onDisk) write(out io.Writer) error {
	if err := d.visited.Flush(); err != nil {
		return err
	}
	ordered, err := d.fresh.Sections()
	if err != nil {
		return err
	}
	sorted, err := d.fresh.Sorter.Runs()
	if err != nil {
		return err
	}
	data := d.head(inFiles)
	for _, n := range []uint64{d.place, d.fresh.Count} {
		data = binary.AppendUvarint(data, n)
	}
	data, err = d.dir.Append(data, d.levels, d.visited.Runs(), ordered, sorted)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// errNoDisk is of a search that was kept in files, and is gone on with in memory.
var errNoDisk = errors.New("the states of this search are in files: name their directory in External")

// reopen reads what write has written behind the head.
func reopen(s *search, in *bufio.Reader) error {
	if s.Disk == nil {
		return errNoDisk
	}
	place, err := binary.ReadUvarint(in)
	count, err2 := binary.ReadUvarint(in)
	if err != nil || err2 != nil {
		return ErrKept
	}
	dir, lists, err := external.Reopen(s.Disk.Directory, s.Disk.Name, s.Disk.Bound, s.Disk.Sizes, in, 4)
	if errors.Is(err, external.ErrList) {
		err = ErrKept
	}
	if err != nil {
		return err
	}
	d := newOnDisk(s, dir)
	// Whatever is wrong with them, the files stay.
	if err := d.reopenAll(place, count, lists[0], lists[1], lists[2], lists[3]); err != nil {
		return errors.Join(err, dir.Leave())
	}
	s.disk = d
	return nil
}

// reopenAll takes over what is in the files. Each of them is read as a whole, so that damage shows
// now, and not after an hour.
func (d *onDisk) reopenAll(place, count uint64, levels, visited, ordered, sorted []external.Section) error {
	d.isSaved = true
	if len(levels) != d.depth+1 || levels[0].Records != uint64(len(d.starts)) ||
		place > levels[d.depth].Records {
		return ErrKept
	}
	states := uint64(0)
	for _, section := range levels {
		if err := section.Check(true); err != nil {
			return err
		}
		states += section.Records
	}
	if err := d.visited.SetRuns(visited); err != nil {
		return err
	}
	if err := d.fresh.SetSections(ordered, sorted); err != nil {
		return err
	}
	// Each state is in a level and in a run.
	if states != d.visited.Count() || count != d.fresh.Count {
		return ErrKept
	}
	d.levels, d.file, d.place = levels, levels[0].File, place
	return nil
}
