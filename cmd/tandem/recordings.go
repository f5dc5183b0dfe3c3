package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandem-mc/tandem/report"
)

// loadRecording reads a recording, which is a file or a schedule as a string. It says where its
// program is built: in dir, if the user has named that. The path in a file is that of the machine
// where it was recorded. A schedule names its package by its import path, so that any directory of
// the module will do.
func loadRecording(what, dir string) (r *report.Recording, where string, err error) {
	// No file has a name like that, unless somebody means to confuse.
	if strings.HasPrefix(what, report.SchedulePrefix) {
		if r, err = report.Schedule(what).Recording(); err != nil {
			return nil, "", err
		}
		dir = cmp.Or(dir, ".")
	} else if r, err = report.Load(what); err != nil {
		return nil, "", err
	}
	if dir == "" {
		dir = r.Program.Directory
	} else if dir, err = filepath.Abs(dir); err != nil {
		return nil, "", err
	}
	// The build would fail in other words.
	if _, err := os.Stat(dir); err != nil {
		return nil, "", fmt.Errorf("the directory that the program was checked from: %w; "+
			"say with --dir where that is now", err)
	}
	return r, dir, nil
}
