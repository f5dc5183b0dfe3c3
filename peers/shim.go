package peers

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
)

// The sources of the shim, and the shim itself where `make` has built it.
//
//go:embed shim
var shimFiles embed.FS

// Shim is two libraries that tell what peers read that differs from run to run, or make it.
type Shim struct {
	Library string // preloaded into programs that use the C library: see Page
	VDSO    string // for programs that do not
}

// shimSources are what the libraries are made of, in the order of build.sh.
var shimSources = map[string][]string{"nd": {"nd.c", "clock.c", "waits.c"}, "vdso": {"vdso.c"}}

// FindShim returns the files of the shim. They are in directory already, or they are put
// there: as `make` has built them, or else by the C compiler.
func FindShim(ctx context.Context, directory string) (Shim, error) {
	var s Shim
	for name, file := range map[string]*string{"nd": &s.Library, "vdso": &s.VDSO} {
		var err error
		if *file, err = findShim(ctx, directory, name); err != nil {
			return Shim{}, fmt.Errorf("the shim of the peers: %w", err)
		}
	}
	return s, nil
}

func findShim(ctx context.Context, directory, name string) (string, error) {
	sum := sha256.New()
	for _, part := range shimSources[name] {
		source, err := shimFiles.ReadFile("shim/" + part)
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
	if err := os.CopyFS(work, shimFiles); err != nil {
		return "", err
	}
	work = filepath.Join(work, "shim")
	object := filepath.Join(work, name+".so")
	if built, err := os.ReadFile(object); err != nil || !bytes.Contains(built, []byte(hash)) {
		if err := compileShim(ctx, work, name); err != nil {
			return "", err
		}
	}
	return file, os.Rename(object, file) // whole, or not at all
}

// compileShim makes name.so of name.c in a directory, as the Makefile does.
func compileShim(ctx context.Context, directory, name string) error {
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

// Watched returns the environment of peer number i of a group with the library of the shim
// in it, which the group sees as the file library, and its page as the file page. If the peer has a
// clock of its own, that starts at start.
func (p Peer) Watched(i int, library, page string, start time.Time) []string {
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
