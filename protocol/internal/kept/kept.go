// Package kept reads and writes files of searches. After a line of text come parts, each with its
// length before it, then what is written as a stream, and at the end a checksum of all. A file is
// replaced as a whole: whatever goes wrong, there is the old one or the new one.
package kept

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// Head is the first line of a file.
const Head = "tandem protocol search 1\n"

// File is a file by its name. One goroutine may use it at a time.
type File string

// part is the file in which a search is written before it takes the place of the one before.
func (f File) part() string { return string(f) + ".part" }

// Damaged is the error of a file that is not whole.
func (f File) Damaged() error {
	return fmt.Errorf("%s has no search, or a part of it is lost: remove it", string(f))
}

// Probe says at once if the file could not be written: its directory is not there, or forbids it.
// The disk may be full later nevertheless.
func (f File) Probe() error {
	part, err := os.OpenFile(f.part(), os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(part.Close(), os.Remove(f.part()))
	}
	if err != nil {
		return fmt.Errorf("keep the search: %w", err)
	}
	return nil
}

// Write writes the file anew, with some parts and a stream. The new one takes the place of the old
// one when it is on the disk. After an error the old one is there, and no part of the new one.
func (f File) Write(parts [][]byte, stream func(io.Writer) error) error {
	err := f.write(parts, stream)
	if err != nil {
		os.Remove(f.part())
		return err
	}
	// The name is not on the disk before its directory is. Not every system knows of that.
	if directory, err := os.Open(filepath.Dir(string(f))); err == nil {
		_ = directory.Sync()
		directory.Close()
	}
	return nil
}

// write is Write without what is left to do afterwards.
func (f File) write(parts [][]byte, stream func(io.Writer) error) error {
	file, err := os.OpenFile(f.part(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	out := io.MultiWriter(file, sum)
	data := []byte(Head)
	for _, p := range parts {
		data = append(binary.AppendUvarint(data, uint64(len(p))), p...)
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	if err := stream(out); err != nil {
		return err
	}
	if err := binary.Write(file, binary.LittleEndian, sum.Sum32()); err != nil {
		return err
	}
	// A name may get to the disk before what it stands for, so that comes first. A file that was
	// closed without an error may still be in memory only.
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(f.part(), string(f))
}

// Check compares the file with its checksum.
func (f File) Check() error {
	file, err := os.Open(string(f))
	if err != nil {
		return fmt.Errorf("go on with a search: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	sum, size := crc32.NewIEEE(), info.Size()-crc32.Size
	if size < int64(len(Head)) {
		return f.Damaged()
	}
	if _, err := io.CopyN(sum, file, size); err != nil {
		return fmt.Errorf("go on with a search: %w", err)
	}
	var want uint32
	if err := binary.Read(file, binary.LittleEndian, &want); err != nil || sum.Sum32() != want {
		return f.Damaged()
	}
	return nil
}

// Read has the file read: so many parts, and then the stream, behind which the checksum is.
func (f File) Read(parts int, read func(parts [][]byte, stream *bufio.Reader) error) error {
	file, err := os.Open(string(f))
	if err != nil {
		return fmt.Errorf("go on with a search: %w", err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	head := make([]byte, len(Head))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != Head {
		return f.Damaged()
	}
	var list [][]byte
	for range parts {
		p, err := readPart(in)
		if err != nil {
			return f.Damaged()
		}
		list = append(list, p)
	}
	return read(list, in)
}

// readPart reads bytes with their length. The buffer grows as there are more: the length may be
// anything.
func readPart(in *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	part, err := io.ReadAll(io.LimitReader(in, int64(min(n, 1<<40))))
	if err == nil && uint64(len(part)) != n {
		err = io.ErrUnexpectedEOF
	}
	return part, err
}
