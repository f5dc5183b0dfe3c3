package server

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// lookPath finds the file to execute by the PATH that the peer itself will see, below its root
// directory. A name with a slash is left as it is, for the kernel to find from the directory that
// the peer runs in.
func lookPath(c protocol.Command) (string, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return "", errors.New("it has no command: give it one")
	}
	name := c.Args[0]
	if strings.Contains(name, "/") {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(c.Dir, name)
		}
		// The proxy may execute any file that anybody may.
		st, err := statBelow(c.Root, file)
		if err == nil && st.Mode&0o111 == 0 {
			err = unix.EACCES
		}
		if err != nil {
			return "", fmt.Errorf("execute %s: %w", name, err)
		}
		return name, nil
	}
	path := "" // the last one counts
	for _, e := range c.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		file := dir + "/" + name
		if dir == "" {
			continue
		}
		st, err := statBelow(c.Root, file) // a directory may be executed, too
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("no command %q in its PATH %q: install it, or name its file", name, path)
}

// statBelow looks at a file as a process with this root directory sees it; empty: that of the
// group. Absolute links of an image lead to files of the image.
func statBelow(root, path string) (st unix.Stat_t, err error) {
	top, err := unix.Open(cmp.Or(root, "/"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return st, err
	}
	defer unix.Close(top)
	fd, err := unix.Openat2(top, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}
