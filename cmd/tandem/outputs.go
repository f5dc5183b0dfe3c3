package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tandem-mc/tandem/report"
)

// writable refuses files to which results cannot be written. It may take hours until there is a
// result. An empty name stands for no file.
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

// keepRecording saves a counterexample and returns the name of its file. If that cannot be written,
// since the disk is full for instance, it goes below the directory for temporary files: what was
// found is not lost.
func keepRecording(warn io.Writer, path string, r *report.Recording) (file string, err error) {
	if err = report.Save(path, r); err == nil {
		return path, nil
	}
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
