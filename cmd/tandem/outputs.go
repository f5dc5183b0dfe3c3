package main

import (
	"fmt"
	"os"
	"path/filepath"
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
			return fmt.Errorf("nothing can be written to %s: %w; name a file in an existing directory",
				path, err)
		}
		probe.Close()
		os.Remove(probe.Name())
	}
	return nil
}
