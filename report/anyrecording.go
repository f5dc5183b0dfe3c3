package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// CounterexampleSuffix ends the names of files with counterexamples.
const CounterexampleSuffix = ".counterexample"

// AnyRecording is a recording of one program, or of several. One of the fields is nil.
type AnyRecording struct {
	One     *Recording
	Several *NodesRecording
}

// save writes it to a file.
func (r AnyRecording) save(path string) error {
	if r.Several != nil {
		return SaveNodes(path, r.Several)
	}
	return Save(path, r.One)
}

// isIn reports whether a file has a counterexample of the same programs, run in the same way. A
// file that cannot be loaded is another one.
func (r AnyRecording) isIn(file string) bool {
	one, several, err := LoadAny(file)
	switch {
	case err != nil:
		return false
	case r.Several != nil:
		return several != nil && several.SameNodes(r.Several)
	}
	return one != nil && one.Program.SameProgram(&r.One.Program)
}

// File is a name for the file of a counterexample: NAME.counterexample, or, where that is taken
// or holds something else, NAME.2.counterexample and so on. An earlier counterexample of the same
// program with the same arguments gives way, and that is said. Whether a name is taken by this run
// is asked of the caller. The loop ends, since only finitely many names are taken.
func (r AnyRecording) File(warn io.Writer, name string, taken func(file string) bool) string {
	file := name + CounterexampleSuffix
	for n := 2; ; n++ {
		if !taken(file) {
			switch info, err := os.Lstat(file); {
			case err != nil:
				return file
			case info.Mode().IsRegular() && r.isIn(file):
				fmt.Fprintf(warn, "tandem: %s: the counterexample of an earlier check is replaced\n", file)
				return file
			}
		}
		file = fmt.Sprintf("%s.%d%s", name, n, CounterexampleSuffix)
	}
}

// Keep saves a counterexample, and returns the name of its file. If that cannot be written,
// since the disk is full for instance, it goes below the directory for temporary files: what was
// found is not lost. The warning names both places. The error says why neither could be written.
func (r AnyRecording) Keep(warn io.Writer, path string) (file string, err error) {
	if err = r.save(path); err == nil {
		return path, nil
	}
	// A directory of its own, so that the file keeps its name.
	dir, e := os.MkdirTemp("", "tandem-")
	if e != nil {
		return path, fmt.Errorf("keeping the counterexample: %w; nor elsewhere: %w", err, e)
	}
	file = filepath.Join(dir, filepath.Base(path))
	if e := r.save(file); e != nil {
		os.Remove(dir)
		return path, fmt.Errorf("keeping the counterexample: %w; nor elsewhere: %w", err, e)
	}
	fmt.Fprintf(warn, "tandem: %v; the counterexample is in %s\n", err, file)
	return file, nil
}

// Read reads a counterexample: a file, or a schedule as a string.
func Read(what string) (r AnyRecording, err error) {
	// No file has a name like that, unless somebody means to confuse.
	if strings.HasPrefix(what, SchedulePrefix) {
		r.One, err = Schedule(what).Recording()
	} else {
		r.One, r.Several, err = LoadAny(what)
	}
	return r, err
}

// Directory is where the programs are built: in dir, if the user has named that. The path in a file
// is that of the machine where it was recorded. A schedule names its package by its import path, so
// that any directory of the module will do.
func (r AnyRecording) Directory(what, dir string) (_ string, err error) {
	there := "."
	if r.Several != nil {
		there = r.Several.Directory
	} else if !strings.HasPrefix(what, SchedulePrefix) {
		there = r.One.Program.Directory
	}
	if dir != "" {
		if there, err = filepath.Abs(dir); err != nil {
			return "", err
		}
	}
	// The build would fail in other words.
	if _, err := os.Stat(there); err != nil {
		return "", fmt.Errorf("the directory that the program was checked from: %w; "+
			"say with --dir where that is now", err)
	}
	return filepath.Abs(there)
}
