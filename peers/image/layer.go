package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Layers are applied one over the other. Each is a tar archive, in which files of special names
// remove what the layers below have: OCI Image Format Specification, Image Layer Filesystem
// Changeset.

// Names of files that remove others.
const (
	whiteout = ".wh."
	// All of its directory that lower layers have.
	whiteoutAll = ".wh..wh..opq"
	// Of the file system AUFS itself.
	whiteoutMeta = ".wh..wh."
)

// applier extracts layers to a tree.
type applier struct {
	*tree
	// Bytes that may still be read of layers, and as many may be written.
	left    int64
	written int64
	entries int
}

// apply extracts one layer of an archive, and verifies what was read.
func (x *applier) apply(a archive, l layer) error {
	f, err := a.open(l.name)
	if err != nil {
		return fmt.Errorf("%w; write the image anew", err)
	}
	defer f.Close()
	// An archive of docker save has no digests of its files, but the configuration always has those
	// of what is in the layers.
	blob, diff := sha256.New(), sha256.New()
	raw := io.TeeReader(f, blob)
	unpacked, err := decompress(raw)
	if err != nil {
		return err
	}
	// A few bytes that are compressed may stand for very many.
	b := &bound{from: unpacked, left: x.left}
	content := io.TeeReader(b, diff)
	if err := x.extract(content); err != nil {
		return err
	}
	// What is behind the end of the archive counts, too.
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return err
	}
	x.left = b.left
	if err := verify(blob, l.blob); err != nil {
		return err
	}
	return verify(diff, l.diff)
}

// verify compares digests. An empty one is not known.
func verify(sum hash.Hash, want string) error {
	if now := "sha256:" + hex.EncodeToString(sum.Sum(nil)); want != "" && now != want {
		return fmt.Errorf("the digest of its content is %s, and not %.90s: %w", now, want, errDamaged)
	}
	return nil
}

// decompress reads what is compressed by gzip, or not at all.
func decompress(from io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(from)
	kind, _ := buffered.Peek(len(magicZstd))
	switch {
	case bytes.HasPrefix(kind, magicZstd):
		return nil, errZstd
	case bytes.HasPrefix(kind, magicGzip):
		return gzip.NewReader(buffered)
	}
	return buffered, nil
}

// extract applies the entries of a layer. What is removed is removed from the layers below only,
// wherever in the archive that stands.
func (x *applier) extract(from io.Reader) error {
	r, fresh := tar.NewReader(from), map[string]bool{}
	for {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		switch {
		case errors.Is(err, errTooLarge):
			return err
		case err != nil:
			return fmt.Errorf("the layer cannot be read: %w; write the image anew", err)
		}
		if x.entries++; x.entries > maxEntries {
			return fmt.Errorf("the image has more than %d files: give a smaller one", maxEntries)
		}
		name, err := cleanName(h.Name)
		if err != nil {
			return err
		}
		if name == "." {
			continue
		}
		if err := x.entry(name, h, r, fresh); err != nil {
			return fmt.Errorf("extract %.200q: %w", h.Name, err)
		}
	}
}

// cleanName is the path of an entry below the root of the image, in its shortest form.
func cleanName(name string) (string, error) {
	// The kernel would refuse it, too, with another message.
	if len(name) > maxName || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the path %.80q is longer than %d bytes, or has a zero byte: build the "+
			"image anew",
			name, maxName)
	}
	// No tool writes such names, so nothing is lost by refusing them.
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the path %.200q has .. in it, which could lead out of the image: "+
				"build the "+
				"image anew", name)
		}
	}
	return path.Clean(strings.TrimLeft(name, "/")), nil
}

// entry applies one entry. Devices are left out: /dev is that of the group.
func (x *applier) entry(name string, h *tar.Header, content io.Reader, fresh map[string]bool) error {
	// Archives need not have an entry for each directory.
	dir, base := path.Split(name)
	parent, err := x.makeDirectory(dir, fresh)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	switch {
	case base == whiteoutAll:
		return x.clear(parent, dir, fresh)
	case strings.HasPrefix(base, whiteoutMeta):
		return nil
	case strings.HasPrefix(base, whiteout):
		// A name of nothing, or of the directory itself, could remove what is around it.
		hidden := strings.TrimPrefix(base, whiteout)
		if hidden == "" || hidden == "." || hidden == ".." || fresh[dir+hidden] {
			return nil
		}
		return removeAt(parent, hidden)
	}
	if err := x.makeEntry(parent, base, h, content); err != nil {
		return err
	}
	fresh[name] = true
	return nil
}

// clear removes from a directory what this layer has not made.
func (x *applier) clear(parent int, dir string, fresh map[string]bool) error {
	// By its descriptor, since the name may lead elsewhere from here.
	names, err := os.ReadDir(fmt.Sprintf("/proc/self/fd/%d", parent))
	if err != nil {
		return err
	}
	for _, e := range names {
		if !fresh[dir+e.Name()] {
			if err := removeAt(parent, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeEntry makes a file, directory, link or pipe in an open directory. What is there goes, unless
// both are directories.
func (x *applier) makeEntry(parent int, base string, h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
		return nil
	}
	// A link is not followed: it is what goes, and not what it leads to.
	var st unix.Stat_t
	err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	there := err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && h.Typeflag == tar.TypeDir
	if err == nil && !there {
		err = removeAt(parent, base)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if !there {
			err = unix.Mkdirat(parent, base, 0o700)
		} else {
			err = nil
		}
	case tar.TypeReg:
		// A sparse file may hold more than its archive does.
		if x.written += h.Size; h.Size < 0 || x.written < 0 || x.written > maxBytes {
			return errTooLarge
		}
		err = writeFile(parent, base, content)
	// A link may lead anywhere. It is only followed inside of the tree.
	case tar.TypeSymlink:
		err = unix.Symlinkat(h.Linkname, parent, base)
	case tar.TypeLink:
		return x.link(parent, base, h.Linkname)
	case tar.TypeFifo:
		err = unix.Mkfifoat(parent, base, 0o600)
	default:
		return fmt.Errorf("it is of a kind that no image has, %q: build the image anew", h.Typeflag)
	}
	if err != nil {
		return err
	}
	return attributes(parent, base, h)
}

// writeFile writes a new file.
func writeFile(parent int, base string, content io.Reader) error {
	// What was there is gone, so a file that is there now is a fault.
	fd, err := unix.Openat(parent, base,
		unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// link makes a hard link. Links on the way to its target are followed inside of the tree only, and
// the target itself is not followed.
func (x *applier) link(parent int, base, target string) error {
	name, err := cleanName(target)
	if err != nil {
		return err
	}
	dir, last := path.Split(name)
	from, err := x.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("it is a hard link to %.200q: %w", target, err)
	}
	defer unix.Close(from)
	if err := unix.Linkat(from, last, parent, base, 0); err != nil {
		return fmt.Errorf("it is a hard link to %.200q: %w; build the image anew", target, err)
	}
	return nil
}

// attributes gives a file its owner, mode and time. Only root can give files to others.
func attributes(parent int, base string, h *tar.Header) error {
	// Elsewhere all belongs to the user, as whom the peers run then.
	if os.Geteuid() == 0 {
		if h.Uid < 0 || h.Gid < 0 || h.Uid >= 1<<32-1 || h.Gid >= 1<<32-1 {
			return fmt.Errorf("it belongs to %d:%d, which is no user: build the image anew", h.Uid, h.Gid)
		}
		if err := unix.Fchownat(parent, base, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	// To give a file away takes these bits from it, so they come after that.
	if h.Typeflag != tar.TypeSymlink {
		if err := unix.Fchmodat(parent, base, uint32(h.Mode)&0o7777, 0); err != nil {
			return err
		}
	}
	return setTime(parent, base, h.ModTime)
}

// setTime sets the time of a file or link. One that the file system cannot have is the beginning.
func setTime(parent int, base string, at time.Time) error {
	if at.Unix() < 0 || at.Year() > 2200 {
		at = time.Unix(0, 0)
	}
	// Both times are the same: that of the last access is nobody's concern.
	t := unix.NsecToTimespec(at.UnixNano())
	return unix.UtimesNanoAt(parent, base, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
}

// removeAt removes an entry of an open directory, with all that is in it. Links are not followed.
func removeAt(parent int, base string) error {
	return os.RemoveAll(fmt.Sprintf("/proc/self/fd/%d/%s", parent, base))
}
