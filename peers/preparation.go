package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// Preparation makes a directory that takes long to make and is the same each time, such as that
// of an empty database. It is made once, kept in the user's cache, and copied into each group
// that has it.
type Preparation struct {
	// Path is the directory that Command makes. It is below Scratch, and is not there before.
	Path string
	// Command runs as root, in Scratch. It has what a peer has: the machine's files, which it can
	// only read, directories of its own at Scratch and /tmp, and no network. When it exits with
	// 0, it has made the directory.
	Command []string
	// Programs are files, or patterns of package path/filepath, that the result depends on. When
	// one of them changes, as with a newer release, the directory is made anew.
	Programs []string
}

const (
	// MaxPreparations bounds Group.Prepare.
	MaxPreparations = 16
	// preparationTimeout is how long Command may take.
	preparationTimeout = 5 * time.Minute
	// preparedUnused is how long a result is kept that no group uses.
	preparedUnused = 7 * 24 * time.Hour
	// runVersion is increased when commands are run in another way, which may change results.
	runVersion = "1"
)

// validate reports the first thing that is wrong with the description. The path has one way to be
// written only, so that the same directory has the same key.
func (p Preparation) validate() error {
	below, err := File{Path: p.Path}.Below(Scratch)
	switch {
	case err != nil:
		return err
	case p.Path != Scratch+"/"+below:
		return fmt.Errorf("path %q is not %s/..., in its shortest form: write it so", p.Path, Scratch)
	case len(p.Command) == 0 || p.Command[0] == "":
		return fmt.Errorf("there is no command that makes %s: add one", p.Path)
	case slices.ContainsFunc(p.Command, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return fmt.Errorf("the command that makes %s contains a zero byte: remove it", p.Path)
	}
	for _, pattern := range p.Programs {
		if _, err := filepath.Match(pattern, ""); err != nil || !filepath.IsAbs(pattern) {
			return fmt.Errorf("the program %q is neither an absolute path nor a pattern of one: write "+
				"one", pattern)
		}
	}
	return nil
}

// key tells results apart. Paths, sizes and times of programs count, but not their contents: to
// read a server takes as long as to start it. A program that is missing is an error, which says
// what to install.
func (p Preparation) key() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", runVersion, text)
	for _, pattern := range p.Programs {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		if len(files) == 0 {
			return "", fmt.Errorf("there is no %s, which makes %s: install it", pattern, p.Path)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%q %d %d\n", file, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:32], nil
}

// Make returns the directory with the result on this machine. It is in a cache, and is made there
// if it is missing. Several processes may do so at the same time. The scratch directory of groups
// is at scratch. It is made beside its place and moved there as a whole, so that nobody ever finds
// half of it. The error has the end of what the command wrote.
func (p Preparation) Make(ctx context.Context, cache, scratch string) (string, error) {
	key, err := p.key()
	if err != nil {
		return "", err
	}
	whole := filepath.Join(cache, key)
	below, err := File{Path: p.Path}.Below(Scratch)
	if err != nil {
		return "", err
	}
	result := filepath.Join(whole, "tree", below)
	if _, err := os.Stat(result); err == nil {
		return result, touch(whole)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	forgetUnused(cache)
	// Two processes that make the same have directories of their own.
	work, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := errors.Join(os.Chmod(work, 0o755), os.Mkdir(tree, 0o755)); err != nil {
		return "", err
	}
	if err := p.run(ctx, tree, scratch); err != nil {
		return "", fmt.Errorf("prepare %s: %w", p.Path, err)
	}
	if info, err := os.Stat(filepath.Join(tree, below)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("prepare %s: %q has exited with 0, and not made this directory: change the "+
			"command",
			p.Path, p.Command)
	}
	err = os.Rename(work, whole)
	if err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return "", err
	}
	return result, touch(whole) // if another process was faster, it is the one of that process
}

// enter makes the file system of a group around a directory, and executes a command there. It
// goes to the directory before it mounts anything over the place where that may be.
const enter = `cd "$0" && scratch=$1 && shift && mount --make-rprivate / && mount -t proc proc /proc &&
mount -t tmpfs -o mode=755 tandem /run && mkdir "$scratch" && mount --bind . "$scratch" &&
mount -t tmpfs -o mode=1777 tandem /tmp && mount -o remount,bind,ro / && cd "$scratch" && exec "$@"`

// run runs the command with tree as its scratch directory. What it has started ends with it. It has
// namespaces of its own, and the machine's files are read-only there, so it leaves nothing else
// behind.
func (p Preparation) run(ctx context.Context, tree, scratch string) error {
	ctx, cancel := context.WithTimeout(ctx, preparationTimeout)
	defer cancel()
	// The command is not put into the text of the shell, so nothing in it needs quotes.
	arguments := []string{"-c", enter, tree, scratch}
	for _, a := range p.Command {
		arguments = append(arguments, strings.ReplaceAll(a, Scratch, scratch))
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", arguments...)
	var output bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = defaultEnvironment, "/", &output, &output
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = userns.With(&syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWNET,
		Pdeathsig: unix.SIGKILL,
	})
	runtime.LockOSThread() // the command ends with this thread: see Pdeathsig
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		return nil
	}
	const most = 4 << 10
	text := bytes.TrimSpace(output.Bytes())
	return fmt.Errorf("%.200q: %w; it wrote: %s", p.Command, err, text[max(0, len(text)-most):])
}

// touch notes that a result is used: see forgetUnused.
func touch(file string) error {
	now := time.Now()
	return os.Chtimes(file, now, now)
}

// forgetUnused removes results that no group has used for long, and what was left half made.
func forgetUnused(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > preparedUnused {
			os.RemoveAll(filepath.Join(cache, e.Name())) // if that fails, it is tried again
		}
	}
}
