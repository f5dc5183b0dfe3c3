package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// File is put in place before the peers start. A relative path is below Scratch. Content with a
// zero byte is no text, so Scratch is not replaced in it.
type File struct {
	Path    string // one that ends with a slash is that of an empty directory
	Content []byte
	Mode    fs.FileMode // permission bits; 0 means 0644, and 0755 for a directory
}

// IsDirectory tells whether it is an empty directory.
func (f File) IsDirectory() bool { return strings.HasSuffix(f.Path, "/") }

// Below returns the file's path relative to the scratch directory. It is in its shortest form. One
// that would lead out of the directory, that is absolute, or that no text can hold, is an error.
func (f File) Below(scratch string) (string, error) {
	p := f.Path
	if rest, ok := strings.CutPrefix(p, scratch+"/"); ok {
		p = rest
	}
	clean := path.Clean(p)
	if p == "" || path.IsAbs(p) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsRune(p, 0) || !utf8.ValidString(p) {
		return "", fmt.Errorf("path %q does not name a file below %s: write one that does", f.Path, Scratch)
	}
	return clean, nil
}

// place is the same for all ways to write the path of a file. One that is wrong stays as it is:
// Validate says what is wrong with it.
func (f File) place() string {
	if below, err := f.Below(Scratch); err == nil {
		return below
	}
	return f.Path
}

// CopyOf lists the files of a directory as files of a group, below the path to. The mode of a
// file is 0755 if it can be executed, and 0644 otherwise: the umask of who has copied it does not
// matter. The directory may contain only directories and regular files, and no more than a group
// may.
func CopyOf(directory fs.FS, to string) ([]File, error) {
	var all []File
	total := int64(0)
	err := fs.WalkDir(directory, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := fs.Stat(directory, path) // follows links
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is a %v: only directories and regular files can be copied; leave it out",
				path, info.Mode().Type())
		}
		// A directory that is too large is refused before it is read.
		if total += info.Size(); total > MaxContent || len(all) == MaxFiles {
			return fmt.Errorf("the directory holds more than %d files, or %d bytes: "+
				"give one with what the peer needs",
				MaxFiles, MaxContent)
		}
		content, err := fs.ReadFile(directory, path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		all = append(all, File{Path: to + "/" + path, Content: content, Mode: mode})
		return nil
	})
	return all, err
}

// ValidateTarget checks that something may be bound over a path of the group: an absolute path in
// its shortest form, outside of what Tandem sets up itself. Callers must also check what a symbolic
// link leads to.
func ValidateTarget(target string) error {
	for _, reserved := range []string{"/proc", "/dev", "/run"} {
		if target == reserved || strings.HasPrefix(target, reserved+"/") {
			return fmt.Errorf("%s of a group is set up by tandem: choose another path", reserved)
		}
	}
	if !path.IsAbs(target) || path.Clean(target) != target || target == "/" {
		return errors.New("the path is not absolute, or not in its shortest form, or is /: write it as " +
			"/dir/name")
	}
	return nil
}
