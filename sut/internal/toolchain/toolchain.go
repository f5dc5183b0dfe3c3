// Package toolchain builds programs that can be controlled. It makes a copy of the Go distribution
// in use, with a patched standard library, and runs its go command.
package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/sut/overlay"
)

// Toolchain is a copy of a Go distribution whose runtime lets itself be controlled. It is made of
// hard links but for the files that differ. Several builds may run at the same time.
type Toolchain struct {
	Root    string // its GOROOT
	Version string // as `go env GOVERSION` prints it
	Fresh   bool   // it was made just now, so that the first program takes its library to be compiled

	goFlags string // as `go env GOFLAGS` prints them
}

// supported are the releases whose internals the patch knows.
var supported = []string{"go1.25", "go1.26", "go1.27"}

// New returns the patched twin of the Go distribution that the go command uses in dir, making it
// below cache if it is not there yet. It may be called at the same time by several processes. An
// error says what to do where the release or the machine is not supported.
func New(ctx context.Context, dir, cache string) (*Toolchain, error) {
	values, err := goEnvironment(ctx, dir, "GOROOT", "GOFLAGS", "GOVERSION", "GOARCH", "GOOS")
	if err != nil {
		return nil, err
	}
	goroot, flags, version := values[0], values[1], values[2]
	if values[3] != "amd64" || values[4] != "linux" {
		return nil, fmt.Errorf("this machine builds for %s/%s: run Tandem on linux/amd64",
			values[4], values[3])
	}
	if !isSupported(version) {
		return nil, fmt.Errorf("%s is not supported: use one of %s (the go line or toolchain line of "+
			"go.mod, or GOTOOLCHAIN, selects it)", version, strings.Join(supported, ", "))
	}
	files, err := patchedFiles(goroot)
	if err != nil {
		var anchor *anchorError
		if errors.As(err, &anchor) {
			return nil, fmt.Errorf("%s is not supported, its runtime differs from what is known: %w",
				version, err)
		}
		return nil, err
	}
	root := filepath.Join(cache, version+"-"+digest(goroot, files))
	t := &Toolchain{Root: root, Version: version, goFlags: flags}
	if _, err := os.Stat(filepath.Join(root, "VERSION")); err == nil {
		// It is in use. Where it is another user's, or nothing can be written there, nobody here
		// would remove it either.
		now := time.Now()
		_ = os.Chtimes(root, now, now)
		return t, nil
	}
	forgetUnused(cache)
	t.Fresh = true
	return t, makeRoot(goroot, root, files)
}

// unusedFor is how long a patched distribution is kept that nobody asks for.
const unusedFor = 7 * 24 * time.Hour

// forgetUnused removes patched distributions, finished or not, that have not been in use for a
// while. What cannot be removed stays. Releases come and go, and each change of the patch makes
// another one.
func forgetUnused(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		mine := strings.HasPrefix(e.Name(), "go1.") || strings.HasPrefix(e.Name(), "new-")
		if err == nil && mine && time.Since(info.ModTime()) > unusedFor {
			os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}

// isSupported reports whether a release is one of the supported ones, or of their later versions.
func isSupported(version string) bool {
	for _, s := range supported {
		if version == s || strings.HasPrefix(version, s+".") || strings.HasPrefix(version, s+"rc") {
			return true
		}
	}
	return false
}

// goEnvironment asks the user's go command for variables, in the directory of the package: go.mod
// may select another release there.
func goEnvironment(ctx context.Context, dir string, names ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w (is Go installed and in PATH?)", commandError(err))
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("go env printed %d lines instead of %d", len(lines), len(names))
	}
	return lines, nil
}

// commandError adds what a failed command wrote to its standard error, where it says what is wrong.
func commandError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// patchedFiles returns the files of the distribution that are replaced or added, by path below
// GOROOT/src. An anchor that is not found is an *anchorError.
func patchedFiles(goroot string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range slices.Concat(patches, preinit) {
		path, text, err := readFirst(filepath.Join(goroot, "src"), p.path)
		if err != nil {
			return nil, err
		}
		s, err := parseSource(path, text)
		if err != nil {
			return nil, err
		}
		e := &editor{source: s}
		if p.edit(e); e.err != nil {
			return nil, e.err
		}
		if files[path] != nil {
			return nil, fmt.Errorf("%s is edited twice: the second edit would undo the first", path)
		}
		files[path] = s.result()
	}
	added, err := overlay.Files()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, added)
	return files, adaptToRelease(goroot, files)
}

// readFirst reads the first file that exists of those that paths names.
func readFirst(dir, paths string) (path string, text []byte, err error) {
	for path = range strings.SplitSeq(paths, "|") {
		if text, err = os.ReadFile(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return path, text, err
}

// adaptToRelease allows for package internal/runtime/syscall, which moved to
// internal/runtime/syscall/linux in Go 1.26.
func adaptToRelease(goroot string, files map[string][]byte) error {
	_, err := os.Stat(filepath.Join(goroot, "src/internal/runtime/syscall/linux"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for path, text := range files {
		if strings.HasPrefix(path, "runtime/tandem") {
			files[path] = bytes.Replace(text, []byte(`linux "internal/runtime/syscall/linux"`),
				[]byte(`linux "internal/runtime/syscall"`), 1)
		}
	}
	return nil
}

// digest names a set of patched files of a distribution. Another patch, or another distribution,
// has another name, so none is ever changed in place.
func digest(goroot string, files map[string][]byte) string {
	h := sha256.New()
	fmt.Fprintln(h, goroot)
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		fmt.Fprintln(h, p, len(files[p]))
		h.Write(files[p])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// makeRoot builds the tree beside its place and moves it there as a whole, so
// that nobody ever sees half of one.
func makeRoot(goroot, root string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(root), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	for _, part := range []string{"bin", "lib", "pkg", "src", "go.env", "VERSION"} {
		if err := linkTree(filepath.Join(goroot, part), filepath.Join(temporary, part)); err != nil {
			return fmt.Errorf("copying the Go distribution: %w", err)
		}
	}
	for path, text := range files {
		to := filepath.Join(temporary, "src", path)
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	err = os.Rename(temporary, root)
	if _, statError := os.Stat(filepath.Join(root, "VERSION")); statError == nil {
		return nil // another process was faster
	}
	return err
}

// linkTree makes to a copy of from by hard links, or by copying where the two are on different file
// systems. Symbolic links are kept as they are.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		if os.Link(path, target) == nil {
			return nil
		}
		return copyFile(path, target)
	})
}

// copyFile copies a file with its permissions; there must be none at to.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
