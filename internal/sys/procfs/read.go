// Package procfs reads what the kernel tells of processes in /proc.
//
// There are two ways. Functions open a file, read it and close it. A Reader keeps files open, for
// those who read the same ones many times.
package procfs

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// Read reads a file of /proc. It takes half the time of os.ReadFile, which has the file polled if
// that can be done.
func Read(path string) ([]byte, error) {
	const most = 1 << 10 // of most files
	return ReadSized(path, most)
}

// ReadSized is Read for a file that has most likely less than so many bytes.
func ReadSized(path string, room int) ([]byte, error) { return ReadWith(path, room, unix.O_RDONLY) }

// ReadWith is ReadSized with more flags to open by.
func ReadWith(path string, room, flags int) ([]byte, error) {
	fd, err := sys.Retry(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	content, err := ReadAll(fd, make([]byte, 0, room))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return content, nil
}

// ReadAll appends what is left of a file to content, which may have room for it.
func ReadAll(fd int, content []byte) ([]byte, error) {
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := sys.Retry(func() (int, error) { return unix.Read(fd, content[len(content):cap(content)]) })
		if n == 0 || err != nil {
			return content, err
		}
		content = content[:len(content)+n]
	}
}
