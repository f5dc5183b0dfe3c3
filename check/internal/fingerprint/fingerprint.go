// Package fingerprint describes what a check depends on, so that a later one can tell whether it is
// still the same: the values of a configuration, and the files that peers use. Saved runs and kept
// caches hold such descriptions, and what has changed since is named to the user.
package fingerprint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

// Files lists the files that the answers of peers depend on, with a hash of each: their programs,
// the files and directories of this machine that the words of commands name, and what is bound.
// What else a program opens is not known.
// The keys are texts for the user. Values are hashes, or what stands for one.
func Files(g *peers.Group) map[string]string {
	all := map[string]string{}
	for _, p := range g.Peers {
		name := "peer " + p.Name + ": "
		// Its files are those of the image alone.
		if p.Image.Digest != "" {
			all[name+"its image"] = p.Image.Digest
			continue
		}
		all[name+"its program"] = hashProgram(p.Command[0])
		for _, path := range pathsIn(p) {
			if hash := hashPath(path); hash != "" {
				all[name+path] = hash
			}
		}
	}
	for target, source := range g.Binds {
		if hash := hashPath(source); filepath.IsAbs(source) && hash != "" {
			all["what is bound over "+target] = hash
		}
	}
	return all
}

// Changed names the entries that two lists of files do not have in common, a line each.
// An entry that is in one list only has changed, too.
func Changed(was, is map[string]string) (lines []string) {
	for _, what := range bothKeys(was, is) {
		if was[what] != is[what] {
			lines = append(lines, what+" has changed")
		}
	}
	return lines
}

// Differences names the values that two configurations do not have in common, a line each. Keys
// that are ignored may differ.
// An empty value and a missing one are the same.
func Differences(was, is map[string]string, ignored ...string) (lines []string) {
	for _, key := range bothKeys(was, is) {
		if was[key] != is[key] && !slices.Contains(ignored, key) {
			lines = append(lines, Difference(key, was[key], is[key]))
		}
	}
	return lines
}

// Difference says that a value was another one; an empty one was not there.
func Difference(key, was, is string) string {
	return fmt.Sprintf("%s: it was %s, and is %s", key, orNothing(was), orNothing(is))
}

// orNothing puts words in place of an empty value.
func orNothing(value string) string {
	if value == "" {
		return "not there"
	}
	return value
}

// bothKeys are the keys of either map, sorted, each once.
func bothKeys(a, b map[string]string) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// endsWord reports whether a character ends a path in the argument of a command: what a shell, or a
// flag with a value, would end it with.
func endsWord(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'=:,;()<>|&`, r) }

// pathsIn are the paths that the words of a peer's command may be. Those in the scratch directory
// are left out, since each group has its own.
// A word may be no path at all. Those that name no file get no hash later.
func pathsIn(p peers.Peer) (paths []string) {
	for _, argument := range p.Command {
		for word := range strings.FieldsFuncSeq(argument, endsWord) {
			if !filepath.IsAbs(word) {
				word = filepath.Join(p.Directory, word)
			}
			if filepath.IsAbs(word) && !strings.Contains(word, peers.Scratch) {
				paths = append(paths, filepath.Clean(word))
			}
		}
	}
	return paths
}

// ofTheKernel are directories of which each group has its own.
// Their content is the kernel's, and differs each time.
var ofTheKernel = []string{"/dev", "/proc", "/sys", "/run"}

// Bounds, so that describing the peers takes less time than a check.
const (
	maxRead   = 64 << 20 // bytes; of larger files, such as those of a database, size and time are looked at
	maxListed = 10_000   // files of a directory
)

// unreadable stands for the hash of what cannot be read.
const unreadable = "not readable"

// hashPath is the hash of a file's content or of a directory's listing; empty if it is neither.
// Directories are resolved first, so that a link that leads elsewhere is a change.
func hashPath(path string) string {
	isIn := func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	info, err := os.Stat(path)
	if err != nil || path == "/" || slices.ContainsFunc(ofTheKernel, isIn) {
		return ""
	}
	switch {
	case info.IsDir():
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return unreadable
		}
		return path + " " + hashTree(path)
	case info.Mode().IsRegular() && info.Size() > maxRead:
		return fmt.Sprintf("%d bytes of %v", info.Size(), info.ModTime())
	case info.Mode().IsRegular():
		return hashFile(path)
	}
	return ""
}

// hashFile is the hash of a file's content, or unreadable.
func hashFile(path string) string {
	hash, err := sut.HashFile(path)
	if err != nil {
		return unreadable
	}
	return hash
}

// hashProgram is that of a command, as far as it can be found here.
// The command is looked up in PATH, as the start of the peer will do.
func hashProgram(command string) string {
	path, err := exec.LookPath(command)
	if err != nil {
		return "not found"
	}
	return hashFile(path)
}

// errTooMany ends the walk. Its text then stands for the hash.
var errTooMany = errors.New("too many files")

// hashTree is the hash of the names, sizes and times of all files in a directory. To read them all
// could take longer than a check.
func hashTree(directory string) string {
	sum, listed := sha256.New(), 0
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		// The bound counts entries, directories included.
		if listed++; listed > maxListed {
			return errTooMany
		}
		if err != nil {
			fmt.Fprintf(sum, "%q not readable\n", path)
			return nil
		}
		fmt.Fprintf(sum, "%q %v", path, d.Type())
		if target, err := os.Readlink(path); err == nil {
			fmt.Fprintf(sum, " %q", target)
		}
		// A link to a file stands for the file. Of a link to a directory only the name counts: the
		// directory may be one above.
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(sum, " %v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		fmt.Fprintln(sum)
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
