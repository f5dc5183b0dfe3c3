package sut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// checkDisk reports what is wrong with a disk. Two disks that are the same byte for byte are the
// same to a program, so nothing but the bytes is kept of one.
func checkDisk(disk []byte) error {
	_, err := readDisk(disk)
	return err
}

// diskFile is a name on a disk that has something else under it than the machine.
type diskFile struct {
	Path string
	Gone bool // there is nothing
	Same int  // 1 + the place in the list of the file that has this name, too; 0: it is new here
	// Mode, Links and the rest are those of the kernel. Links is 0 for a directory.
	Mode, UID, GID, Links uint32
	Modified              syscall.Timespec
	Host                  string // where the machine has it, if it does
	Target                string // of a symbolic link
	Size                  int64  // of a regular file; -1: the content is that of Host
	Runs                  []diskRun
}

// diskRun is a part of a regular file. What is between the parts is zero.
type diskRun struct {
	At    int64
	Bytes []byte
}

// readDisk reads a Log.Disk: all that differs from the machine, a directory before what is in it,
// names in their order.
func readDisk(disk []byte) ([]diskFile, error) {
	if len(disk) == 0 || disk[0] != abi.DiskVersion {
		return nil, errors.New("it does not begin with the version that is known")
	}
	r := &diskReader{rest: disk[1:], at: map[string]int{}}
	for len(r.rest) > 0 && r.err == nil {
		r.record()
	}
	if r.err != nil {
		return nil, fmt.Errorf("record %d: %w", len(r.files), r.err)
	}
	return r.files, nil
}

// A disk comes from a worker, whose memory the program can have written to, or from whoever has
// kept it. So all that a worker relies on is checked before one finds it. The worker itself checks
// nothing but what only the machine knows.

// diskReader reads the records of a disk, up to the first error.
type diskReader struct {
	rest  []byte
	files []diskFile
	at    map[string]int // of each path, where it is in files
	err   error
}

// fail notes the first error. Nothing is read after it.
func (r *diskReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

// number reads a number; bytes and text read what is as long as it says.
func (r *diskReader) number(most uint64) uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 || x > most {
		r.fail("a number is missing or too large")
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

func (r *diskReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("%d bytes are missing", n-uint64(len(r.rest)))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *diskReader) text(most uint64) string { return string(r.bytes(r.number(most))) }

// record reads a record, and checks that it can follow those before.
func (r *diskReader) record() {
	kind := r.bytes(1)
	f := diskFile{Path: r.text(abi.MaxDiskPath)}
	r.place(f.Path)
	if r.err != nil {
		return
	}
	switch kind[0] {
	case abi.DiskGone:
		f.Gone = true
	case abi.DiskLink:
		to := r.number(1 << 32)
		if to >= uint64(len(r.files)) || r.files[to].Gone || r.files[to].Same != 0 ||
			r.files[to].is(syscall.S_IFDIR) {
			r.fail("%s is a name of nothing that can have several", f.Path)
			return
		}
		f.Same = 1 + int(to)
	case abi.DiskFile:
		r.file(&f)
	default:
		r.fail("its kind is %d, which is unknown", kind[0])
	}
	if f.Path == "/" && (!f.is(syscall.S_IFDIR) || f.Host != "/") {
		r.fail("the root is no directory of the machine")
	}
	if r.err == nil {
		r.at[f.Path] = len(r.files)
		r.files = append(r.files, f)
	}
}

// is reports whether it is a file of a kind, such as syscall.S_IFDIR.
func (f *diskFile) is(kind uint32) bool { return f.Mode&syscall.S_IFMT == kind }

// place checks that there can be a record of a path, after those so far.
func (r *diskReader) place(path string) {
	if r.err != nil {
		return
	}
	names, ok := namesOf(path)
	if !ok {
		r.fail("%q is no path", path)
		return
	}
	// The order is that of names, not of bytes: "/a/b" comes before "/a-b".
	if n := len(r.files); n > 0 {
		before, _ := namesOf(r.files[n-1].Path)
		if slices.Compare(before, names) >= 0 {
			r.fail("%s comes after %s", path, r.files[n-1].Path)
			return
		}
	}
	for i := range names {
		above := "/" + strings.Join(names[:i], "/")
		if k, there := r.at[above]; there && !r.files[k].is(syscall.S_IFDIR) {
			r.fail("%s is below %s, which is no directory", path, above)
		}
	}
}

// namesOf are the names of a path from the root on.
func namesOf(path string) ([]string, bool) {
	if path == "/" {
		return nil, true
	}
	rest, absolute := strings.CutPrefix(path, "/")
	names := strings.Split(rest, "/")
	for _, name := range names {
		if name == "" || name == "." || name == ".." || len(name) > abi.MaxDiskName ||
			strings.IndexByte(name, 0) >= 0 {
			return nil, false
		}
	}
	return names, absolute
}

// file reads what a file is like. Of what is no regular file, link, directory or socket nothing but
// attributes can have changed: only the machine can have made it.
func (r *diskReader) file(f *diskFile) {
	const most = 1<<32 - 1
	f.Mode, f.UID, f.GID = uint32(r.number(most)), uint32(r.number(most)), uint32(r.number(most))
	f.Links = uint32(r.number(most))
	seconds, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("a time is missing")
		return
	}
	r.rest = r.rest[n:]
	f.Modified = syscall.Timespec{Sec: seconds, Nsec: int64(r.number(1e9 - 1))}
	f.Host = r.text(abi.MaxDiskPath)
	if _, ok := namesOf(f.Host); f.Host != "" && !ok {
		r.fail("the machine has it at %q, which is no path", f.Host)
	}
	switch f.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		r.content(f)
	case syscall.S_IFLNK:
		if f.Target = r.text(abi.MaxDiskPath); f.Target == "" || strings.IndexByte(f.Target, 0) >= 0 {
			r.fail("it is a link to %q", f.Target)
		}
	case syscall.S_IFDIR:
		if f.Links != 0 {
			r.fail("it is a directory with %d links", f.Links)
		}
	case syscall.S_IFSOCK:
	default:
		if f.Host == "" {
			r.fail("its mode is %o, and the machine does not have it", f.Mode)
		}
	}
}

// content reads the runs of blocks of a regular file.
func (r *diskReader) content(f *diskFile) {
	if r.number(1) == 0 {
		if f.Size = -1; f.Host == "" {
			r.fail("its content is that of a file which the machine does not have")
		}
		return
	}
	f.Size = int64(r.number(abi.MaxFileSize))
	blocks := (uint64(f.Size) + abi.DiskBlock - 1) / abi.DiskBlock
	// The runs are in ascending order, do not overlap, and none ends behind the file.
	for next := uint64(0); ; {
		from := r.number(blocks)
		if from == 0 {
			return
		}
		count := r.number(blocks)
		if from--; from < next || count == 0 || count > blocks-from {
			r.fail("blocks %d to %d of %d come after block %d", from, from+count, blocks, next)
			return
		}
		next = from + count
		start := from * abi.DiskBlock
		b := r.bytes(min(next*abi.DiskBlock, uint64(f.Size)) - start)
		f.Runs = append(f.Runs, diskRun{At: int64(start), Bytes: b})
	}
}
