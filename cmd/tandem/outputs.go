package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tandem-mc/tandem/report"
)

// writable refuses files to which results cannot be written. It may take hours until there is a
// result. An empty name stands for no file. A file that is there is not changed. Whether its
// directory can be written to is what counts, since files are replaced as a whole.
func writable(files ...string) error {
	for _, path := range files {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return fmt.Errorf("nothing can be written to %s: it is a directory; name a file", path)
		}
		if err == nil && !info.Mode().IsRegular() {
			continue // such as /dev/stdout
		}
		// Permissions alone do not tell: the file system may be read-only or full.
		probe, err := os.CreateTemp(filepath.Dir(path), ".tandem-*")
		if err != nil {
			return fmt.Errorf("nothing can be written to %s: %w; name a file in a directory that there is",
				path, err)
		}
		probe.Close()
		os.Remove(probe.Name())
	}
	return nil
}

// counterexampleSuffix ends the names of files with counterexamples.
const counterexampleSuffix = ".counterexample"

// counterexampleFile is a file for a counterexample: NAME.counterexample, or, where that is taken
// or holds something else, NAME.2.counterexample and so on. An earlier counterexample of the same
// program with the same arguments gives way, and that is said. Whether a name is taken by this run
// is asked of the caller. The loop ends, since only finitely many names are taken.
func counterexampleFile(
	warn io.Writer, name string, r *report.Recording, taken func(file string) bool,
) string {
	file := name + counterexampleSuffix
	for n := 2; ; n++ {
		if !taken(file) {
			switch info, err := os.Lstat(file); {
			case err != nil:
				return file
			case info.Mode().IsRegular() && isOfSame(file, r):
				fmt.Fprintf(warn, "tandem: %s: the counterexample of an earlier check is replaced\n", file)
				return file
			}
		}
		file = fmt.Sprintf("%s.%d%s", name, n, counterexampleSuffix)
	}
}

// isOfSame reports whether a file has a counterexample of the same program, built with the same
// tags, and run in the same way: with the same arguments and environment, with peers or without. A
// file that cannot be loaded is another one.
func isOfSame(file string, r *report.Recording) bool {
	earlier, err := report.Load(file)
	if err != nil {
		return false
	}
	a, b := earlier.Program, r.Program
	return a.Package == b.Package && a.Directory == b.Directory && a.Tests == b.Tests &&
		slices.Equal(a.Args, b.Args) && slices.Equal(a.Tags, b.Tags) &&
		slices.Equal(a.Env, b.Env) && a.Peers == b.Peers
}

// keepRecording saves a counterexample and returns the name of its file. If that cannot be written,
// since the disk is full for instance, it goes below the directory for temporary files: what was
// found is not lost. The warning names both places. The error says why neither could be written.
func keepRecording(warn io.Writer, path string, r *report.Recording) (file string, err error) {
	if err = report.Save(path, r); err == nil {
		return path, nil
	}
	// A directory of its own, so that the file keeps its name.
	dir, e := os.MkdirTemp("", "tandem-")
	if e != nil {
		return path, fmt.Errorf("keeping the counterexample: %w; nor elsewhere: %w", err, e)
	}
	file = filepath.Join(dir, filepath.Base(path))
	if e := report.Save(file, r); e != nil {
		os.Remove(dir)
		return path, fmt.Errorf("keeping the counterexample: %w; nor elsewhere: %w", err, e)
	}
	fmt.Fprintf(warn, "tandem: %v; the counterexample is in %s\n", err, file)
	return file, nil
}
