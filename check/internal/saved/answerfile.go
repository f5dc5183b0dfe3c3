package saved

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/fileutil"
	"github.com/tandem-mc/tandem/iocache"
)

// AnswerFile is a file in which the answers of the peers are kept between checks: what one check
// has asked the next one need not. Each answer is appended as soon as it is there, so that a check
// that is killed leaves all but the last of them. The file is locked while there is a AnswerFile of
// it, which is used by one check.
type AnswerFile struct {
	path   string
	file   *os.File
	end    int64 // of what is whole
	cache  *iocache.Cache
	failed func(error)
	broken bool // nothing more can be kept
}

// OpenAnswerFile opens the file, or makes it with a description of the peers. Of a file that is
// there, same says whether its description is that of the present peers: an error of it is
// returned. Masks are the rules of the check; answers that others have let differ may contradict
// each other. Beyond some bytes of memory they go to a file without a name; 0 is the default. A
// record at the end that is not whole is cut off. Failed is told once if answers cannot be kept any
// more.
func OpenAnswerFile(path, description string, masks []iocache.Mask, bytes int64,
	same func(description string) error, failed func(error)) (*AnswerFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the cache that is kept: %w", err)
	}
	k := &AnswerFile{path: path, file: file, cache: driver.RoomyCache(masks, bytes), failed: failed}
	if err := k.open(description, same); err != nil {
		file.Close()
		return nil, fmt.Errorf("the cache that is kept in %s: %w", path, err)
	}
	return k, nil
}

// DescriptionOf returns the description in a file that OpenAnswerFile has made. It reads the header
// only, and takes no lock: another check may be using the file.
func DescriptionOf(path string) (string, error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file: name one")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	reader, err := iocache.NewReader(bufio.NewReader(file))
	if err != nil {
		return "", err
	}
	return reader.Description, nil
}

// open locks the file, and reads what it has. A file that is empty, or in which not even the header
// is complete, is begun anew. Of one that was cut off in the middle of an answer the rest counts.
// On an error the caller closes the file.
func (k *AnswerFile) open(description string, same func(string) error) error {
	if err := fileutil.TryLock(k.file); err != nil {
		if errors.Is(err, fileutil.ErrLocked) {
			return errors.New("another check uses it: wait for its end, or name another file")
		}
		return err
	}
	info, err := k.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file: name one")
	}
	// The header is compared as bytes, since it tells whether an earlier creation was cut short.
	header := iocache.AppendHeader(nil, description)
	begun := make([]byte, min(info.Size(), int64(len(header))))
	if _, err := k.file.ReadAt(begun, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(begun) < len(header) && bytes.HasPrefix(header, begun) { // new, or whoever made it was stopped
		return k.append(header)
	}
	var restored error
	k.end, err = k.read(same, func(e iocache.Entry) error {
		restored = k.cache.Restore(e)
		return restored
	})
	var wrong *iocache.FileError
	// Only a record that is torn at the end is repaired. Anything else is damage.
	if errors.As(err, &wrong) && wrong.Torn && k.end > 0 {
		return k.cutOff(wrong)
	}
	switch {
	case isForWantOfRoom(restored): // the error says what to do
		return restored
	case restored != nil:
		return fmt.Errorf("it is damaged, or was kept with other masks: %w: put back a copy, or name "+
			"another file", restored)
	case wrong != nil:
		return fmt.Errorf("%w: put back a copy, or name another file", err)
	}
	return err
}

// isForWantOfRoom reports whether an error of a cache is none of what was to be recorded: there is
// no room for it, or what is spilled cannot be read again.
func isForWantOfRoom(err error) bool {
	var full *iocache.LimitError
	var lost *iocache.SpillError
	return errors.As(err, &full) || errors.As(err, &lost)
}

// cutOff removes a record at the end that is not whole. What is followed by others is no end: then
// the file is damaged, and left as it is. A large tail, or one with a whole record in it, means
// damage in the middle.
func (k *AnswerFile) cutOff(wrong *iocache.FileError) error {
	tail, err := io.ReadAll(io.LimitReader(io.NewSectionReader(k.file, k.end, 1<<62), maxTail+1))
	if err != nil {
		return err
	}
	if len(tail) > maxTail || iocache.HasRecord(tail) {
		return fmt.Errorf("it is damaged: %w; what follows there would be lost: put back a copy, or name "+
			"another file", wrong)
	}
	return k.file.Truncate(k.end)
}

// maxTail bounds what is looked at of a file whose end is not whole: an answer may take as much.
const maxTail = 1 << 30 // bytes

// read goes through the file, and returns the end of what is whole. An error of same or each ends
// it, and is returned as it is.
func (k *AnswerFile) read(same func(string) error, each func(iocache.Entry) error) (int64, error) {
	reader, err := iocache.NewReader(bufio.NewReader(io.NewSectionReader(k.file, 0, 1<<62)))
	if err != nil {
		return 0, err
	}
	if same != nil {
		if err := same(reader.Description); err != nil {
			return 0, err
		}
	}
	for {
		end := reader.Offset()
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err == nil {
			err = each(entry)
		}
		if err != nil {
			return end, err
		}
	}
}

// Record keeps an answer. It is called by the driver with its lock held. An error does not end the
// check.
func (k *AnswerFile) Record(e iocache.Entry) {
	if k.broken {
		return
	}
	if err := k.append(iocache.AppendEntry(nil, e)); err != nil {
		k.fail(err)
	}
}

// fail gives up keeping. The failure is told once, since nothing is written after it.
func (k *AnswerFile) fail(err error) {
	k.broken = true
	if k.failed != nil {
		k.failed(fmt.Errorf("keeping the answers of the peers in %s: %w", k.path, err))
	}
}

// Follow keeps an answer that was recorded in another cache than the one that is kept, unless it is
// there. A contradiction with the file ends the keeping, and the check goes on.
func (k *AnswerFile) Follow(other *iocache.Cache, e iocache.Entry) {
	if k.broken {
		return
	}
	here, isNew, err := k.cache.Follow(other, e)
	var lost *iocache.SpillError
	var full *iocache.LimitError
	switch {
	case errors.As(err, &full):
		k.fail(err)
	case errors.As(err, &lost):
		k.fail(fmt.Errorf("what it has cannot be read again: %w", err))
	case err != nil:
		k.fail(fmt.Errorf("the run that goes on has other answers than it: %w", err))
	case isNew:
		k.Record(here)
	}
}

// append writes what is whole or not there at all. After an error the file is cut back to its last
// whole record.
func (k *AnswerFile) append(data []byte) error {
	if _, err := k.file.WriteAt(data, k.end); err != nil {
		return errors.Join(err, k.file.Truncate(k.end))
	}
	k.end += int64(len(data))
	return nil
}

// Close has all that was kept on disk, and gives the file free. Use of the file after it is an
// error.
func (k *AnswerFile) Close() error {
	if err := errors.Join(k.file.Sync(), k.file.Close()); err != nil {
		return fmt.Errorf("the cache that is kept in %s: %w", k.path, err)
	}
	return nil
}

// Each calls each with the answers in the file, in their order. It reads the file, so it also sees
// what was appended.
func (k *AnswerFile) Each(each func(iocache.Entry) error) error {
	_, err := k.read(nil, each)
	return err
}

// Cache has the answers of the file.
func (k *AnswerFile) Cache() *iocache.Cache { return k.cache }

// Path is the name of the file.
func (k *AnswerFile) Path() string { return k.path }
