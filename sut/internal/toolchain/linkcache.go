package toolchain

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/fileutil"
)

// To link a program takes most of the time of a build in which nothing has changed. The go command
// does not link if the file that it would write is there already: it looks at the build ID in the
// file, which is a hash of all that goes in. So each program is built into an entry of its own
// below the cache, and copied from there.
//
// An entry is a directory with three files: the program, its hash, and that of what it was made of
// (inputs.go). It is locked while it is used. The go command holds the
// lock, too, because it goes on for a moment when a check is killed. It trusts the build ID alone,
// and an interrupted build may leave half of a file, so the hash of the whole is kept beside it.
// Whatever goes wrong with an entry, the program is built without one.
const (
	entriesDir   = "programs" // the directory of the entries, beside the patched distributions
	entryProgram = "program"
	entryHash    = "hash"
	entryInputs  = "inputs"
)

// maxEntryBytes is how many bytes of programs are kept; the one just built is kept in any case. A
// program has some 10 MB.
const maxEntryBytes = 512 << 20

// link runs the go command with args, which leave out the output, writes o.Output and returns its
// hash. Build errors of an entry are tried again without it, so an entry can only make a build
// faster.
func (t *Toolchain) link(
	ctx context.Context, o BuildOptions, in inputs, args []string,
) (hash string, err error) {
	main := in.packages[len(in.packages)-1]
	to := func(file string, held ...*os.File) error {
		all := slices.Concat(args[:1], []string{"-o", file}, args[1:], []string{o.Package})
		if o.Progress != nil && !o.Tests { // of tests, -v is another flag
			all = slices.Insert(all, 1, "-v")
		}
		cmd := t.command(ctx, o.Dir, all...)
		cmd.ExtraFiles = held
		said := newCompiled(in.packages, o.Progress)
		cmd.Stderr = said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", o.Package, said.addTo(err))
		}
		return nil
	}
	k := openEntry(filepath.Join(filepath.Dir(t.Root), entriesDir), entryName(t.Root, o, main, args))
	if k != nil {
		hash, err = k.link(in, func(file string) error { return to(file, k.lock) }, o.Output)
		k.lock.Close()
		if err == nil {
			limitEntries(filepath.Dir(k.dir), maxEntryBytes)
			return hash, nil
		}
		if ctx.Err() != nil {
			return "", err
		}
	}
	if err := to(o.Output); err != nil {
		return "", err
	}
	return HashFile(o.Output)
}

// entryName names the entry of a program. Two programs of one name would only displace each other:
// the go command looks at what they are made of. So it need not name the sources.
func entryName(root string, o BuildOptions, main listedPackage, args []string) string {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		dir = o.Dir
	}
	h := sha256.New()
	for _, part := range slices.Concat([]string{root, dir, o.Package, main.ImportPath, main.Dir}, args) {
		fmt.Fprintf(h, "%q\n", part)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// linkEntry is an entry that is locked until lock is closed.
type linkEntry struct {
	dir  string
	lock *os.File
}

// openEntry locks an entry, which it makes if it is not there. It returns nil if there can be none
// or it is in use: then a program is built without one.
func openEntry(cache, name string) *linkEntry {
	dir := filepath.Join(cache, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil
	}
	return lockEntry(dir)
}

// lockEntry locks an entry that is there; nil if it cannot.
func lockEntry(dir string) *linkEntry {
	lock, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if fileutil.TryLock(lock) == nil {
		locked, err := lock.Stat()
		now, errNow := os.Lstat(dir)
		if err == nil && errNow == nil && os.SameFile(locked, now) {
			// nobody has removed it before it was locked
			return &linkEntry{dir, lock}
		}
	}
	lock.Close()
	return nil
}

// link has to, which writes a file, write the program of the entry and copies it to output. The
// hash that was noted says that the program is whole, and not cut off by an interruption. If it is
// made of the same as it would be now, it is only copied.
func (k *linkEntry) link(
	in inputs, to func(file string) error, output string,
) (hash string, err error) {
	program, note := filepath.Join(k.dir, entryProgram), filepath.Join(k.dir, entryHash)
	noted, _ := os.ReadFile(note)
	madeOf, before := filepath.Join(k.dir, entryInputs), in.hash()
	if hash, _ = HashFile(program); hash != "" && hash == string(noted) {
		if was, _ := os.ReadFile(madeOf); before != "" && string(was) == before {
			now := time.Now()
			_ = os.Chtimes(program, now, now) // it is in use: see limitEntries
			return copyAndHash(program, output)
		}
	} else if err := os.RemoveAll(program); err != nil { // nobody knows whether it is whole
		return "", err
	}
	_ = os.Remove(madeOf)         // it is not known of what will be there
	const clockStep = time.Second // more than the steps of the times of files
	began := time.Now().Add(-clockStep)
	if err := to(program); err != nil {
		return "", err
	}
	// The go command sets the time also where it links nothing. With -n in GOFLAGS it does nothing
	// at all.
	if info, err := os.Stat(program); err != nil || info.ModTime().Before(began) {
		return "", fmt.Errorf("the go command has not written %s", program)
	}
	if hash, err = copyAndHash(program, output); err != nil {
		return hash, err
	}
	// Without the notes the next build links again, or asks the go command.
	if hash != string(noted) {
		err = os.WriteFile(note, []byte(hash), 0o600)
	}
	if err == nil && before != "" && in.hash() == before && in.areListed() {
		_ = os.WriteFile(madeOf, []byte(before), 0o600)
	}
	return hash, nil
}

// copyAndHash makes a copy of a program and returns what HashFile returns for both. The old file is
// removed and not written over: it may be running.
func copyAndHash(from, to string) (hash string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody may run it
		return "", err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o777)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), in); err != nil {
		out.Close()
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), out.Close()
}

// limitEntries keeps the entries that were built last, as far as they have at most limit bytes
// together. It removes the others, and those of interrupted builds. Entries in use stay, and so
// does what cannot be removed.
func limitEntries(cache string, limit int64) {
	type entry struct {
		dir   string
		used  time.Time
		bytes int64
	}
	var entries []entry
	dirs, _ := os.ReadDir(cache)
	for _, d := range dirs {
		e := entry{dir: filepath.Join(cache, d.Name())}
		files, _ := os.ReadDir(e.dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				e.bytes += info.Size()
				if f.Name() == entryProgram {
					e.used = info.ModTime() // the go command sets it, even if it links nothing
				}
			}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(b.used.Compare(a.used), strings.Compare(a.dir, b.dir))
	})
	total := int64(0)
	for _, e := range entries {
		if total += e.bytes; total <= limit && !e.used.IsZero() && time.Since(e.used) <= unusedFor {
			continue
		}
		if k := lockEntry(e.dir); k != nil {
			os.RemoveAll(e.dir)
			k.lock.Close()
			total -= e.bytes
		}
	}
}
