package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a directory that is looked at as the program of an image does whose root directory it is:
// no link leads out of it, and absolute ones begin there.
type tree struct {
	// Of the directory.
	fd        int
	directory string
}

// openTree opens a directory as the root of a tree.
func openTree(directory string) (*tree, error) {
	fd, err := unix.Open(directory, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: directory, Err: err}
	}
	return &tree{fd, directory}, nil
}

// Close closes it.
func (t *tree) Close() { unix.Close(t.fd) }

// open opens a path in the tree.
func (t *tree) open(name string, flags int) (int, error) {
	// The root directory itself has an empty name here.
	if name = path.Clean("/" + name)[1:]; name == "" {
		name = "."
	}
	for {
		fd, err := unix.Openat2(t.fd, name, &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC),
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		// Something was renamed meanwhile, elsewhere.
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: "/" + name, Err: err}
		}
		return fd, nil
	}
}

// made is when directories were made that no layer has.
var made = time.Unix(0, 0)

// makeDirectory opens a directory of the tree, and makes what is missing of it. Fresh gets what was
// made.
func (t *tree) makeDirectory(name string, fresh map[string]bool) (int, error) {
	name = strings.Trim(name, "/")
	fd, err := t.open(name, unix.O_PATH|unix.O_DIRECTORY)
	// Anything but a missing directory is for the caller, such as a file in its place.
	if !errors.Is(err, unix.ENOENT) || name == "" {
		return fd, err
	}
	dir, base := path.Split(name)
	parent, err := t.makeDirectory(dir, fresh)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	err = unix.Mkdirat(parent, base, 0o755)
	if err == nil {
		err = setTime(parent, base, made)
	}
	// A link that leads nowhere, for instance.
	if err != nil {
		return -1, fmt.Errorf("make the directory %.200q: %w; build the image anew", "/"+name, err)
	}
	fresh[name] = true
	return t.open(name, unix.O_PATH|unix.O_DIRECTORY)
}

// resolve is where a path leads, relative to the tree.
func (t *tree) resolve(name string) (string, error) {
	fd, err := t.open(name, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	// The kernel tells where both are, in the same words.
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return "", err
	}
	top, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", t.fd))
	if err != nil {
		return "", err
	}
	below, ok := strings.CutPrefix(at, top)
	if !ok {
		return "", fmt.Errorf("%s is at %s, outside of %s", name, at, top)
	}
	return strings.TrimPrefix(below, "/"), nil
}

// read reads a file of the tree, up to a bound. One that is no regular file, such as a pipe, is an
// error.
func (t *tree) read(name string) ([]byte, error) {
	// A pipe would block whoever opens it.
	fd, err := t.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJSON {
		return nil, fmt.Errorf("%s of the image is no regular file of at most %d bytes: build it anew", name,
			maxJSON)
	}
	// It may shrink meanwhile, which is an error.
	text := make([]byte, info.Size())
	n, err := f.ReadAt(text, 0)
	if n < len(text) {
		return nil, err
	}
	return text, nil
}
