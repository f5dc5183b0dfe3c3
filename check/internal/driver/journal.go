package driver

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/iocache"
)

// MaxShared is how many bytes the answers may take that are kept for others: more than a check has
// in memory, and less than most disks have.
const MaxShared = 16 << 30

// journal has all answers of a driver, in the order in which they were recorded. Once one of them
// cannot be kept, as on a full disk, it has none any more, and gives the room back. Its methods may
// be called by several goroutines. It has a lock of its own: whoever reads it does not wait for
// peers.
type journal struct {
	most int64 // bytes in the file

	mu   sync.Mutex // guards what follows
	file spillFile
	ends []int64 // of each answer in the file
	err  error   // why there are no answers any more; nil: there are
}

// add adds an answer, which the driver has just recorded or taken over.
func (j *journal) add(e iocache.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	record := iocache.AppendEntry(nil, e)
	err := error(nil)
	if j.file.end+int64(len(record)) > j.most {
		err = fmt.Errorf("they take more than %d MiB", j.most>>20)
	} else {
		_, err = j.file.Append(record)
	}
	if err != nil {
		_ = j.finish(err)
		return err
	}
	j.ends = append(j.ends, j.file.end)
	return nil
}

// close frees the file. Who asks afterwards is told that there are no answers any more.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.finish(errors.New("the check has ended"))
}

// finish frees the file, and all else. The first reason stays. The caller holds the lock.
func (j *journal) finish(why error) error {
	j.err = cmp.Or(j.err, why)
	file := j.file
	j.file, j.ends = spillFile{}, nil
	return file.Close()
}

// takeOver adds answers that were recorded earlier.
func (j *journal) takeOver(all func(func(iocache.Entry) error) error) {
	if err := all(j.add); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		_ = j.finish(err)
	}
}

// problem is why there are no answers any more; nil: there are.
func (j *journal) problem() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wrapped()
}

// wrapped is problem. The caller holds the lock.
func (j *journal) wrapped() error {
	if j.err == nil {
		return nil
	}
	return fmt.Errorf("keeping the answers of the peers for workers: %w", j.err)
}

// after are answers behind so many, as in a file but for its header: as many as have room in most
// bytes, but at least one if there is one. More says that there are others.
func (j *journal) after(known int, most int64) (answers []byte, more bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil, false, j.wrapped()
	}
	if known < 0 || known > len(j.ends) {
		return nil, false, fmt.Errorf("there are %d answers of the peers, and not %d", len(j.ends), known)
	}
	begin := int64(0)
	if known > 0 {
		begin = j.ends[known-1]
	}
	end := begin
	for ; known < len(j.ends) && (end == begin || j.ends[known]-begin <= most); known++ {
		end = j.ends[known]
	}
	if end > begin {
		answers = make([]byte, end-begin)
		_, err = j.file.ReadAt(answers, begin)
	}
	return answers, known < len(j.ends), err
}
