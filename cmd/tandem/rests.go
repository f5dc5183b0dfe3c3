package main

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

// restsOn lists what the answers of peers rest on beside their configuration, with a hash of each: the programs, the files
// and directories of this machine that the words of commands name, and what is bound. What else a program opens
// nobody knows.
func restsOn(g *peers.Group) map[string]string {
	all := map[string]string{}
	for _, p := range g.Peers {
		name := "peer " + p.Name + ": "
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

// changes names what two such lists do not have in common.
func changes(was, is map[string]string) (list []string) {
	for _, what := range bothKeys(was, is) {
		if was[what] != is[what] {
			list = append(list, what+" has changed")
		}
	}
	return list
}

// pathsIn are the paths that the words of a peer's command may be, but for those in the group: a word
// ends where a shell, or a flag with a value, may end one.
func pathsIn(p peers.Peer) (paths []string) {
	for _, argument := range p.Command {
		for word := range strings.FieldsFuncSeq(argument, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'=:,;()<>|&`, r) }) {
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

// ofTheKernel are directories of which the group has its own.
var ofTheKernel = []string{"/dev", "/proc", "/sys", "/run"}

// hashPath is the hash of a file's content or of a directory's listing; empty if it is neither.
func hashPath(path string) string {
	isIn := func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	info, err := os.Stat(path)
	if err != nil || path == "/" || slices.ContainsFunc(ofTheKernel, isIn) {
		return ""
	}
	switch {
	case info.IsDir():
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "not readable"
		}
		return path + " " + hashTree(path)
	case info.Mode().IsRegular() && info.Size() > maxRead:
		return fmt.Sprintf("%d bytes of %v", info.Size(), info.ModTime())
	case info.Mode().IsRegular():
		return hashFile(path)
	}
	return ""
}

// maxRead bounds the files that are read: of larger ones, such as those of a database, size and time are looked at.
const maxRead = 64 << 20 // bytes

func hashFile(path string) string {
	hash, err := sut.HashFile(path)
	if err != nil {
		return "not readable"
	}
	return hash
}

// maxListed bounds how many files of a directory are looked at.
const maxListed = 10_000

var errTooMany = errors.New("too many files")

// hashTree is the hash of the names, sizes and times of all files in a directory: to read them all
// may take longer than a check.
func hashTree(directory string) string {
	sum, listed := sha256.New(), 0
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
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
		// Of a link to a file, that; of one to a directory the name has to do, which may be one above.
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

// hashProgram is that of a command, as far as it can be found here.
func hashProgram(command string) string {
	path, err := exec.LookPath(command)
	if err != nil {
		return "not found"
	}
	return hashFile(path)
}

func bothKeys(a, b map[string]string) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
