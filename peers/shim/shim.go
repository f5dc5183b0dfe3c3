// Package shim builds the libraries that are loaded into the processes of peers, and reads what they count there. They tell
// what a peer reads that differs from run to run, the time and random numbers, or make these values.
package shim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/peers"
)

// sourceFiles are the sources of the libraries, and the libraries themselves where `make` has built them.
//
//go:embed src
var sourceFiles embed.FS

// Libraries are the files of the two libraries.
type Libraries struct {
	Library string // preloaded into programs that use the C library: see Counters
	VDSO    string // for programs that do not
}

// librarySources are what the libraries are made of, in the order of build.sh.
var librarySources = map[string][]string{"nd": {"nd.c", "clock.c", "waits.c"}, "vdso": {"vdso.c"}}

// Find returns the libraries. They are in directory already, or they are put there: as `make` has
// built them, or else by the C compiler.
func Find(ctx context.Context, directory string) (Libraries, error) {
	var s Libraries
	for name, file := range map[string]*string{"nd": &s.Library, "vdso": &s.VDSO} {
		var err error
		if *file, err = find(ctx, directory, name); err != nil {
			return Libraries{}, fmt.Errorf("the shim of the peers: %w", err)
		}
	}
	return s, nil
}

func find(ctx context.Context, directory, name string) (string, error) {
	sum := sha256.New()
	for _, part := range librarySources[name] {
		source, err := sourceFiles.ReadFile("src/" + part)
		if err != nil {
			return "", err
		}
		sum.Write(source)
	}
	hash := hex.EncodeToString(sum.Sum(nil))
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

// compile makes name.so of name.c in a directory, as the Makefile does.
func compile(ctx context.Context, directory, name string) error {
	cc := exec.CommandContext(ctx, "sh", "build.sh", name)
	cc.Dir = directory
	if out, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("the C compiler (`tandem doctor --fix` installs one) does not build it: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Variables of the environment that make a process of a peer load the shim.
const (
	preloadVariable = "LD_PRELOAD"
	shimVariable    = "TANDEM_ND"
)

// Environment returns the environment of peer number i of a group with the library of the shim
// in it, which the group sees as the file library, and its page as the file page. If the peer has a
// clock of its own, that starts at start.
func Environment(p peers.Peer, i int, library, page string, start time.Time) []string {
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
	settings := fmt.Sprintf("%s=%s %d %s %d", shimVariable, page, i, clock, start.Unix())
	if p.Choices > 0 {
		settings += fmt.Sprintf(" %d", p.Behaviour)
	}
	return append(environment, preload, settings)
}
