// Package shim builds the libraries that are loaded into the processes of peers, and reads what
// these count. The libraries tell what a peer reads that differs from run to run, the time and
// random numbers, or make these values themselves.
package shim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

// sourceFiles holds the sources of the libraries, and the libraries where `make` has built them.
//
//go:embed src
var sourceFiles embed.FS

// Libraries are the files of the two libraries.
type Libraries struct {
	Library string // preloaded into programs that use the C library: see Counters
	VDSO    string // mapped into programs that do not use it, instead of the kernel's vDSO
}

// Find returns the libraries. They are in directory already, or they are put there: as `make` has
// built them, or else by the C compiler. Several processes may do so at the same time.
func Find(ctx context.Context, directory string) (Libraries, error) {
	var found Libraries
	for name, file := range map[string]*string{"nd": &found.Library, "vdso": &found.VDSO} {
		var err error
		if *file, err = find(ctx, directory, name); err != nil {
			return Libraries{}, fmt.Errorf("the shim of the peers: %w", err)
		}
	}
	return found, nil
}

// find returns one library, whose name has the hash of its sources in it.
func find(ctx context.Context, directory, name string) (string, error) {
	hash, err := sourceHash(sourceFiles, name)
	if err != nil {
		return "", err
	}
	file := filepath.Join(directory, name+"-"+hash[:16]+".so")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(directory, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sourceFiles); err != nil {
		return "", err
	}
	work = filepath.Join(work, "src")
	object := filepath.Join(work, name+".so")
	if built, err := os.ReadFile(object); err != nil || !bytes.Contains(built, []byte(hash)) {
		if err := compile(ctx, work, name); err != nil {
			return "", err
		}
	}
	return file, os.Rename(object, file) // whole, or not at all
}

// sourceHash is the hash of NAME.c and of what that includes, as build.sh has it.
func sourceHash(sources fs.FS, name string) (string, error) {
	main, err := fs.ReadFile(sources, "src/"+name+".c")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(main)
	for line := range strings.Lines(string(main)) {
		part, isPart := strings.CutPrefix(strings.TrimSuffix(line, "\"\n"), "#include \"")
		if !isPart {
			continue
		}
		text, err := fs.ReadFile(sources, "src/"+part)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// compile makes NAME.so of NAME.c in a directory, as the Makefile does.
func compile(ctx context.Context, directory, name string) error {
	cc := exec.CommandContext(ctx, "sh", "build.sh", name)
	cc.Dir = directory
	if out, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("the C compiler (`tandem doctor --fix` installs one) does not build it: %w\n%s",
			err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Variables of the environment that make a process of a peer load the shim.
const (
	preloadVariable  = "LD_PRELOAD"
	settingsVariable = "TANDEM_ND" // see load in src/nd.c
)

// Environment returns the environment of a peer with the shim in it. The peer is number i of its
// group, which sees the library and the file of its counters under these names. If the peer has a
// clock of its own, that starts at start.
func Environment(p peers.Peer, i int, library, counters string, start time.Time) []string {
	preload := preloadVariable + "=" + library
	environment := make([]string, 0, len(p.Env)+2)
	for _, e := range p.Env {
		if own, ok := strings.CutPrefix(e, preloadVariable+"="); ok && own != "" {
			preload += ":" + own
			continue
		}
		environment = append(environment, e)
	}
	clock := "machine"
	if p.VirtualClock {
		clock = "virtual"
	}
	settings := fmt.Sprintf("%s=%s %d %s %d", settingsVariable, counters, i, clock, start.Unix())
	if p.Choices > 0 {
		settings += fmt.Sprintf(" %d", p.Behaviour)
	}
	return append(environment, preload, settings)
}
