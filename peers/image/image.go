// Package image reads container images: archives that `docker save` or an OCI tool has written,
// directories in the OCI image layout, and what a local engine has. It says how the program of an
// image is run, and extracts its files into a cache. Whatever is in an image is taken for hostile:
// digests are verified, sizes are bounded, and no path leads out of the tree.
//
// The formats are those of the OCI Image Format Specification 1.1, and of docker save.
package image

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Engine is what a source begins with that is the name of an image of a local engine.
const Engine = "engine:"

// Reference is an image that was described.
type Reference struct {
	// Source is where it is: an absolute path, with :TAG or @DIGEST behind it where there are
	// several images, or Engine and a name.
	Source string
	// Digest is what the engine calls it, or else that of its configuration, which holds the
	// digests of its layers.
	Digest string
}

// Description says how the program of an image is run.
type Description struct {
	Reference
	Entrypoint, Cmd []string
	// NAME=value.
	Env []string
	// Where it runs.
	Directory string
	// Names or numbers; empty: root.
	User, Group string
	// Directories that the program writes to, sorted.
	Volumes []string
}

// Command is what is run: the entry point with arguments, which are those of the image if they are
// nil.
func (d Description) Command(arguments []string) []string {
	if arguments == nil {
		arguments = d.Cmd
	}
	return append(append([]string{}, d.Entrypoint...), arguments...)
}

// Limits of an image. What is larger is refused before it is extracted as a whole.
const (
	// Bytes of a manifest or a configuration.
	maxJSON = 4 << 20
	// Of an index.
	maxManifests = 256
	// As engines have them.
	maxLayers = 128
	// Files of all layers, and entries of an archive.
	maxEntries = 1 << 19
	// Of all layers, not compressed.
	maxBytes = 16 << 30
	// Bytes of a path.
	maxName = 4096
)

// ErrNotImage says that something is there which is no image.
var ErrNotImage = errors.New("is no container image")

// Describe reads how the program of an image is run. Nothing is extracted.
func Describe(ctx context.Context, source string) (Description, error) {
	if name, ok := strings.CutPrefix(source, Engine); ok {
		return describeEngine(ctx, name)
	}
	// Only the manifest and the configuration are read, which are small.
	a, wanted, err := openSource(source, "")
	if err != nil {
		return Description{}, err
	}
	defer a.Close()
	i, err := find(a, wanted)
	if err != nil {
		return Description{}, fmt.Errorf("%s: %w", source, err)
	}
	d, err := i.config.describe()
	if err != nil {
		return Description{}, fmt.Errorf("%s: %w", source, err)
	}
	d.Reference = Reference{Source: source, Digest: i.digest}
	return d, nil
}

// describe checks what the configuration says of the program.
func (c config) describe() (d Description, err error) {
	// Old images do not say for which system they are. All of them are for Linux.
	if c.OS != "" && c.OS != "linux" || c.Architecture != architecture {
		return d, fmt.Errorf("the image is for %.32s on %.32s: give one for linux on %s", c.OS,
			c.Architecture,
			architecture)
	}
	r := c.Config
	d = Description{Entrypoint: r.Entrypoint, Cmd: r.Cmd, Env: r.Env, Directory: "/"}
	// The texts go to a process, and into messages.
	for _, text := range append(append(append([]string{r.User, r.WorkingDir}, r.Entrypoint...), r.Cmd...),
		r.Env...) {
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return d, fmt.Errorf("its configuration has a text with a zero byte, or not in UTF-8, %.40q: "+
				"build the image anew", text)
		}
	}
	// Engines take a relative one for one below the root directory.
	if r.WorkingDir != "" {
		d.Directory = path.Clean("/" + r.WorkingDir)
	}
	// A user and a group, or a user alone. Either is a name or a number.
	if r.User != "" {
		d.User, d.Group, _ = strings.Cut(r.User, ":")
	}
	// The map has no order, and what is made of it is to be the same each time.
	for volume := range r.Volumes {
		d.Volumes = append(d.Volumes, path.Clean("/"+volume))
	}
	slices.Sort(d.Volumes)
	return d, nil
}

// architecture is the one that peers can have, as images name it.
const architecture = "amd64"

// Tree is an image that was extracted. Nobody writes to it: what peers write to is copied. All
// paths are those of this machine.
type Tree struct {
	Directory string
	// Shared are directories of the image, such as usr, that are mounted read-only: they are large,
	// and what is run does not write to them. Paths are relative, and no shared one is in another.
	Shared []string
	// Volumes are directories in these that the program writes to all the same.
	Volumes []string
	// Library is the C library of GNU in the image; empty: it has none.
	Library string
}

// Own is the directory with the files of which each peer has copies, with an empty directory at the
// place of each shared one.
func (t Tree) Own() string { return filepath.Join(t.Directory, "own") }

// Run is the directory with what the image has in /run.
func (t Tree) Run() string { return filepath.Join(t.Directory, "run") }

// SharedAt is where a directory is that is a shared one, or in one.
func (t Tree) SharedAt(below string) string { return filepath.Join(t.Directory, "shared", below) }
