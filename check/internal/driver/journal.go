package driver

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/iocache"
)

// journal has all answers of a driver, in the order in which they were recorded. Its methods may be
// called by several goroutines. It has a lock of its own: whoever reads it does not wait for peers.
type journal struct {
	mu   sync.Mutex // guards what follows
	file spillFile
	ends []int64 // of each answer in the file
	err  error   // why an answer is missing
}

// add adds an answer, which the driver has just recorded or taken over.
func (j *journal) add(e iocache.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		_, j.err = j.file.Append(iocache.AppendEntry(nil, e))
		j.ends = append(j.ends, j.file.end)
	}
	return j.err
}

// close frees the file. Who asks afterwards is told that there are no answers any more.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = cmp.Or(j.err, errors.New("the check has ended"))
	file := j.file
	j.file = spillFile{}
	return file.Close()
}

// takeOver adds answers that were recorded earlier.
func (j *journal) takeOver(all func(func(iocache.Entry) error) error) {
	if err := all(j.add); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.err = err
	}
}

// after are answers behind so many, as in a file but for its header: as many as have room in most
// bytes, but at least one if there is one. More says that there are others.
func (j *journal) after(known int, most int64) (answers []byte, more bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known < 0 || known > len(j.ends) {
		return nil, false, fmt.Errorf("there are %d answers of the peers, and not %d", len(j.ends), known)
	}
	if j.err != nil {
		return nil, false, fmt.Errorf("keeping answers of the peers for workers: %w", j.err)
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
