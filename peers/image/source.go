package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// An image comes as a directory or as an archive, and both hold the same files: an index,
// manifests, configurations and layers. They are read by name here, whatever they are in.

// archive is what holds the files of images.
type archive interface {
	// open opens a file, by its path in the archive. An error is fs.ErrNotExist where it is not
	// there.
	open(name string) (io.ReadCloser, error)
	io.Closer
}

// openSource opens what a source names, and returns what stands behind it: a tag or a digest, to
// choose one of several images. What is compressed is unpacked to a file in work; without a
// directory for that only its small files can be opened, which is enough to describe an image.
func openSource(source, work string) (a archive, wanted string, err error) {
	// A name may itself contain these characters, so it is looked for as a whole first.
	file, wanted := source, ""
	// Else what is behind the last @ or colon is taken for the choice.
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if at := strings.LastIndex(source, "@"); at > 0 {
			file, wanted = source[:at], source[at+1:]
		} else if at := strings.LastIndex(source, ":"); at > strings.LastIndex(source, "/") && at > 0 {
			file, wanted = source[:at], source[at+1:]
		}
		info, err = os.Stat(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("%s: there is no such file or directory: check the name, and write "+
			"%sNAME "+
			"for an image of a local engine", source, Engine)
	case err != nil:
		return nil, "", err
	// Below a directory no name leads out, be it through links.
	case info.IsDir():
		root, err := os.OpenRoot(file)
		return &layout{root}, wanted, err
	case !info.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s %w: it is neither a regular file nor a directory; name an archive or "+
			"a layout", file, ErrNotImage)
	}
	a, err = openTar(file, work)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	return a, wanted, nil
}

// layout is a directory in the OCI image layout. No name leads out of it.
type layout struct{ *os.Root }

// open implements archive.
func (l *layout) open(name string) (io.ReadCloser, error) {
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s %w: it is not a regular file; make the layout anew", name, ErrNotImage)
	}
	return f, nil
}

// tarred is an archive. It is read once for where its files are.
type tarred struct {
	file  *os.File
	parts map[string]part
}

// part is a file of an archive. Archives of older engines have links for layers that are the same.
type part struct {
	at, size int64
	// What is in it, where the archive cannot be read again.
	small []byte
	link  string
}

// Close implements archive.
func (t *tarred) Close() error { return t.file.Close() }

// open implements archive.
func (t *tarred) open(name string) (io.ReadCloser, error) {
	// Links that lead to each other must not keep anybody busy.
	const maxLinks = 8
	for range maxLinks {
		p, ok := t.parts[path.Clean(name)]
		switch {
		case !ok:
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		case p.link != "":
			name = p.link
			continue
		case p.at < 0 && int64(len(p.small)) < p.size:
			return nil, fmt.Errorf("%s has %d bytes, allowed are %d: build the image anew", name, p.size,
				maxJSON)
		case p.at < 0:
			return io.NopCloser(bytes.NewReader(p.small)), nil
		}
		return io.NopCloser(io.NewSectionReader(t.file, p.at, p.size)), nil
	}
	return nil, fmt.Errorf("%s is a link to itself: build the image anew", name)
}

// errNotTar is what files are that can be read, and are no archive.
var errNotTar = fmt.Errorf("%w: it is no tar archive, or a damaged one; write one with docker save, or "+
	"with a "+
	"tool for OCI images", ErrNotImage)

// openTar opens an archive, which may be compressed by gzip.
func openTar(file, work string) (_ *tarred, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	// The name of a file need not say what it is.
	buffered := bufio.NewReader(f)
	switch kind, _ := buffered.Peek(len(magicZstd)); {
	case bytes.HasPrefix(kind, magicZstd):
		return nil, errZstd
	case !bytes.HasPrefix(kind, magicGzip):
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		t := &tarred{file: f}
		return t, t.index(f, f)
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNotTar, err)
	}
	// The size that the header of gzip tells can be wrong.
	bounded := &bound{from: unpacked, left: maxBytes}
	if work == "" {
		t := &tarred{file: f}
		return t, t.index(bounded, nil)
	}
	// Layers are read one by one, in another order than that of the archive.
	whole, err := os.CreateTemp(work, "archive-")
	if err != nil {
		return nil, err
	}
	// The file has no other user. It goes with the directory in which it is, when the image has
	// been extracted from it.
	t := &tarred{file: whole}
	_, err = io.Copy(whole, bounded)
	if err == nil {
		_, err = whole.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = t.index(whole, whole)
	}
	if err != nil {
		whole.Close()
		return nil, err
	}
	return t, f.Close()
}

// index notes where the files of an archive are. Where the archive cannot be read again, at is nil,
// and small files are kept in memory.
func (t *tarred) index(from io.Reader, at io.Seeker) error {
	t.parts = map[string]part{}
	r, kept := tar.NewReader(from), 0
	for n := 0; ; n++ {
		h, err := r.Next()
		switch {
		case err == io.EOF && n > 0:
			return nil
		case errors.Is(err, errTooLarge):
			return err
		case err != nil:
			return fmt.Errorf("%w (%w)", errNotTar, err)
		case n == maxEntries:
			return fmt.Errorf("the archive has more than %d entries: give a smaller image", maxEntries)
		}
		// Names in an archive may begin with a dot and a slash.
		name := path.Clean(h.Name)
		p := part{at: -1, size: h.Size}
		switch {
		case h.Typeflag == tar.TypeSymlink:
			p.link = path.Join(path.Dir(name), h.Linkname)
		case h.Typeflag == tar.TypeLink:
			p.link = path.Clean(h.Linkname)
		case h.Typeflag != tar.TypeReg:
			continue
		case at != nil:
			if p.at, err = at.Seek(0, io.SeekCurrent); err != nil {
				return err
			}
		// Of what is larger only the size is known.
		case h.Size <= maxJSON && kept+int(h.Size) <= 4*maxJSON:
			kept += int(h.Size)
			if p.small, err = io.ReadAll(io.LimitReader(r, h.Size)); err != nil {
				return fmt.Errorf("%w (%w)", errNotTar, err)
			}
		}
		t.parts[name] = p
	}
}

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// errZstd: there is no decoder of it.
	errZstd = errors.New("it is compressed by zstd, which is not supported: write it with gzip, or not " +
		"compressed")
	errTooLarge = fmt.Errorf("it holds more than %d bytes, which is the most: give a smaller image",
		int64(maxBytes))
)

// bound is a reader that refuses to go on after so many bytes.
type bound struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
