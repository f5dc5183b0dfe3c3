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
)

// The source of the shim, and the shim itself where `make` has built it.
//
//go:embed shim
var shimFiles embed.FS

const (
	shimSource = "shim/nd.c"
	shimObject = "shim/nd.so"
)

// Shim returns the file of a library that is preloaded into the processes of peers, to
// tell what they read that differs from run to run: see Page. It is in directory already,
// or it is put there: as `make` has built it, or else by the C compiler.
func Shim(ctx context.Context, directory string) (string, error) {
	source, err := shimFiles.ReadFile(shimSource)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(source)
	hash := hex.EncodeToString(sum[:])
	file := filepath.Join(directory, "nd-"+hash[:16]+".so")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("a place for the shim of the peers: %w", err)
	}
	work, err := os.MkdirTemp(directory, "build-")
	if err != nil {
		return "", fmt.Errorf("a place to build the shim of the peers: %w", err)
	}
	defer os.RemoveAll(work)
	object := filepath.Join(work, "nd.so")
	if built, err := shimFiles.ReadFile(shimObject); err == nil && bytes.Contains(built, []byte(hash)) {
		err = os.WriteFile(object, built, 0o755)
		if err != nil {
			return "", fmt.Errorf("put the shim of the peers in place: %w", err)
		}
	} else if err := compileShim(ctx, source, hash, object); err != nil {
		return "", err
	}
	if err := os.Rename(object, file); err != nil { // whole, or not at all
		return "", fmt.Errorf("put the shim of the peers in place: %w", err)
	}
	return file, nil
}

// compileShim does what the Makefile does for shim/nd.so.
func compileShim(ctx context.Context, source []byte, hash, object string) error {
	cc := exec.CommandContext(ctx, "cc", "-O2", "-shared", "-fPIC", "-ftls-model=initial-exec", "-U_FORTIFY_SOURCE",
		"-DSOURCE=\""+hash+"\"", "-x", "c", "-", "-o", object)
	cc.Stdin = bytes.NewReader(source)
	if out, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("build the shim of the peers with the C compiler (`tandem doctor --fix` installs one): %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Variables of the environment that make a process of a peer load the shim.
const (
	preloadVariable = "LD_PRELOAD"
	shimVariable    = "TANDEM_ND"
)

// Watched returns the environment of peer number i of a group with the shim in it, which
// the group sees as the file shim, and its page as the file page.
func (p Peer) Watched(i int, shim, page string) []string {
	preload := preloadVariable + "=" + shim
	environment := make([]string, 0, len(p.Env)+2)
	for _, e := range p.Env {
		if own, ok := strings.CutPrefix(e, preloadVariable+"="); ok && own != "" {
			preload += ":" + own
			continue
		}
		environment = append(environment, e)
	}
	settings := fmt.Sprintf("%s=%s %d", shimVariable, page, i)
	if p.Choices > 0 {
		settings += fmt.Sprintf(" %d", p.Behaviour)
	}
	return append(environment, preload, settings)
}
