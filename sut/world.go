package sut

import (
	"fmt"
	"os"
)

// World is what a program finds beside its peers, the same in every execution.
type World struct {
	Stdin    []byte // what standard input has; nil: it is /dev/null
	Disk     int64  // bytes that the files written in one execution can have; 0: DefaultDisk
	Hostname string // empty: DefaultHostname
}

// What a world is where nothing else is said.
const (
	DefaultDisk     = 64 << 20
	DefaultHostname = "tandem"
)

// describe puts the world where the worker looks for it.
func (w World) describe(sh *sharedWorld) error {
	name := w.Hostname
	if name == "" {
		name = DefaultHostname
	}
	if len(name) > hostnameBytes {
		return fmt.Errorf("the hostname %.80q is longer than %d bytes: give a shorter one", name, hostnameBytes)
	}
	sh.hostnameLength = uint64(copy(sh.hostname[:], name))
	if sh.diskBytes = uint64(w.Disk); w.Disk == 0 {
		sh.diskBytes = DefaultDisk
	}
	return nil
}

// standardInput is a file with what the program is to read. Its offset does not
// matter: every execution reads from the start.
func (w World) standardInput() (*os.File, error) {
	if w.Stdin == nil {
		return os.Open(os.DevNull)
	}
	f, err := memoryFile("stdin", 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(w.Stdin); err != nil {
		f.Close()
		return nil, fmt.Errorf("preparing standard input: %w", err)
	}
	return f, nil
}
