// Package saved keeps what is needed to go on with a check: runs, with the state of the search and
// the answers of the peers, and files of answers that several checks share.
package saved

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/fileutil"
	"github.com/tandem-mc/tandem/iocache"
)

// Run is a directory in which a check is saved, so that it can go on after it was interrupted, in
// whatever way. Its files are
//
//	state           what is needed to go on, replaced in one step
//	state.previous  the same, from the time before: should the first be damaged
//	cache           what the peers have answered, appended to
//
// The directory is locked while there is a Run of it, which is used by one check.
type Run struct {
	path  string
	root  string   // of the runs that are kept, if it is one of these
	lock  *os.File // the directory; nil until there is one
	cache *os.File // nil until it is needed
	end   int64    // of what is saved in the file of the cache
	state *State
}

// The files of a run.
const (
	stateFile    = "state"
	previousFile = "state.previous"
	newFile      = "state.new"
	cacheFile    = "cache"
)

// New is a run that will be saved in a directory, which is made when there is something to save. It
// is an error if another run is there.
func New(dir string) (*Run, error) {
	if err := isFree(dir); err != nil {
		return nil, err
	}
	return &Run{path: dir}, nil
}

// isFree returns an error if a directory has a saved run.
func isFree(dir string) error {
	for _, name := range []string{stateFile, previousFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s has a saved run: remove it, or go on with it by --resume %s", dir, dir)
		}
	}
	return nil
}

// Open opens a saved run, to go on with it. If its state is damaged, that from the time before is
// taken, if there is one. A run that another process has open is an error. So is one that has
// ended, since its state was removed.
func Open(dir string) (*Run, error) {
	r := &Run{path: dir}
	if err := r.takeLock(); err != nil {
		return nil, fmt.Errorf("opening the saved run %s: %w", dir, err)
	}
	if err := r.load(); err != nil {
		r.Close()
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("nothing was saved of it yet, or it has ended: check the program again (%w)",
				err)
		}
		return nil, fmt.Errorf("opening the saved run %s: %w", dir, err)
	}
	return r, nil
}

// Path is the directory.
func (r *Run) Path() string { return r.path }

// State is what was saved last; nil of a new run.
func (r *Run) State() *State { return r.state }

// HasAnswers reports whether the peers' answers were saved, or the header of their file.
func (r *Run) HasAnswers() bool { return r.end > 0 }

// Asked is how a saved run was asked for; nil for a new one.
func (r *Run) Asked() []byte {
	if r.state == nil {
		return nil
	}
	return r.state.Asked
}

// Elapsed is how long a saved run has taken so far.
func (r *Run) Elapsed() time.Duration {
	if r.state == nil {
		return 0
	}
	return r.state.Counts.Elapsed
}

// Close gives the directory free. What was saved stays. A run that was never saved has nothing to
// free.
func (r *Run) Close() {
	if r.cache != nil {
		r.cache.Close()
	}
	if r.lock != nil {
		r.lock.Close()
	}
	r.cache, r.lock = nil, nil
}

// Forget removes what was saved, so that another check can be saved in its place. The lock stays,
// so that no other check takes the directory.
func (r *Run) Forget() error {
	if r.lock == nil {
		return nil
	}
	for _, name := range []string{stateFile, previousFile} {
		if err := os.Remove(filepath.Join(r.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("starting the saved run %s over: %w", r.path, err)
		}
	}
	r.state, r.end = nil, 0
	return nil
}

// Remove removes what was saved, and the directory if nothing else is in it. It is called when
// there is nothing to go on with. What is saved afterwards is in a new directory.
func (r *Run) Remove() error {
	if r.lock == nil {
		return nil
	}
	err := removeRun(r.path)
	r.Close()
	r.state, r.end = nil, 0
	return err
}

// removeRun removes the files of a run, and its directory unless others have put something there.
// The directory stays if somebody has put other files into it. All errors are joined.
func removeRun(dir string) error {
	var wrong error
	for _, name := range []string{newFile, stateFile, previousFile, cacheFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = errors.Join(wrong, err)
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		wrong = errors.Join(wrong, err)
	}
	return wrong
}

// takeLock locks the directory for this process. The lock is an flock, which the kernel frees when
// the process ends.
func (r *Run) takeLock() error {
	dir, err := os.OpenFile(r.path, unix.O_DIRECTORY|os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := fileutil.TryLock(dir); err != nil {
		dir.Close()
		if errors.Is(err, fileutil.ErrLocked) {
			return errors.New("another process goes on with it: wait until that has ended")
		}
		return err
	}
	r.lock = dir
	return nil
}

// load reads the newest state that is whole, with the answers of the peers that it rests on. What
// was appended to them since is cut off. An older state rests on fewer answers. These are a prefix
// of the file, so it is cut there.
func (r *Run) load() error {
	err := r.loadFrom(stateFile)
	if err != nil {
		previousError := r.loadFrom(previousFile)
		if errors.Is(previousError, fs.ErrNotExist) {
			return err
		}
		if previousError != nil {
			return errors.Join(err, previousError)
		}
		if err := os.Rename(filepath.Join(r.path, previousFile),
			filepath.Join(r.path, stateFile)); err != nil {
			return err
		}
	}
	if r.cache != nil {
		return r.cache.Truncate(r.end)
	}
	return nil
}

// loadFrom reads a file of state, and sees that the answers are there on which it rests: an older
// state may be good where a newer one is not. On an error the fields may have those of the damaged
// state; load replaces or drops them.
func (r *Run) loadFrom(name string) error {
	data, err := readBounded(filepath.Join(r.path, name))
	if err != nil {
		return err
	}
	saved, err := decodeState(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.state, r.end = saved, saved.CacheBytes
	if saved.CacheBytes == 0 {
		return nil
	}
	if err := r.Answers(func(iocache.Entry) error { return nil }); err != nil {
		return fmt.Errorf("%s, on which %s rests: %w", cacheFile, name, err)
	}
	return nil
}

// readBounded reads a file of which nobody knows whether it is a saved run: it may be of any size.
// A file above maxState is an error, and not read further.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(data) > maxState {
		err = fmt.Errorf("%s has more than %d bytes, so it is no saved run: name another one", path, maxState)
	}
	return data, err
}

// Recall puts the answers of the peers into a cache, which has the rules of the check already: but
// for these, some would contradict others.
func (r *Run) Recall(into *iocache.Cache) error {
	if err := r.Answers(into.Restore); err != nil {
		return fmt.Errorf("the saved run %s: %s: %w", r.path, cacheFile, err)
	}
	return nil
}

// Answers goes through the answers of the peers, up to the end that is saved. A file that ends
// elsewhere is an error, since the state rests on all of it.
func (r *Run) Answers(each func(iocache.Entry) error) error {
	if r.end == 0 {
		return nil
	}
	if err := r.openCache(); err != nil {
		return err
	}
	reader, err := iocache.NewReader(bufio.NewReader(io.NewSectionReader(r.cache, 0, r.end)))
	if err != nil {
		return err
	}
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := each(entry); err != nil {
			return err
		}
	}
	if reader.Offset() != r.end {
		return fmt.Errorf("it ends at byte %d, and should go on to %d: check the program from the "+
			"beginning", reader.Offset(), r.end)
	}
	return nil
}

// openCache opens the file of answers when it is needed. A check without peers has none. It is
// opened for writing, too, since more will be appended.
func (r *Run) openCache() (err error) {
	if r.cache == nil {
		r.cache, err = os.OpenFile(filepath.Join(r.path, cacheFile), os.O_RDWR|os.O_CREATE, 0o600)
	}
	return err
}

// Save makes s, and the answers that were recorded since the last save, what is saved. If it
// cannot, what was saved before still is. Answers come first: a state must not rest on answers that
// are not on disk.
func (r *Run) Save(s *State, answers []byte) error {
	if err := r.create(); err != nil {
		return err
	}
	if err := r.append(answers); err != nil {
		return err
	}
	s.CacheBytes = r.end + int64(len(answers))
	data, err := s.encode()
	if err != nil {
		return err
	}
	if err := r.replace(data); err != nil {
		os.Remove(filepath.Join(r.path, newFile))
		return err
	}
	r.end, r.state = s.CacheBytes, s
	return nil
}

// create makes the directory, if there is none yet. The check for another run is repeated under the
// lock.
func (r *Run) create() error {
	if r.lock != nil {
		return nil
	}
	if err := os.MkdirAll(r.path, 0o700); err != nil {
		return err
	}
	if err := r.takeLock(); err != nil {
		return err
	}
	if err := isFree(r.path); err != nil { // another check was faster
		r.Close()
		return err
	}
	if r.root != "" {
		prune(r.root, maxRuns)
	}
	return nil
}

// append writes to the file of the cache. What is not saved there yet is overwritten. The data is
// synced before the state that rests on it is written.
func (r *Run) append(answers []byte) error {
	if len(answers) == 0 {
		return nil
	}
	if err := r.openCache(); err != nil {
		return err
	}
	if _, err := r.cache.WriteAt(answers, r.end); err != nil {
		return err
	}
	return r.cache.Sync()
}

// replace puts a new state in place of the one that is there, which becomes the previous one. At
// every moment one of them is whole.
func (r *Run) replace(data []byte) error {
	in := func(name string) string { return filepath.Join(r.path, name) }
	f, err := os.OpenFile(in(newFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	// A crash between the two renames leaves the previous state, which Open takes.
	if err := os.Rename(in(stateFile), in(previousFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(in(newFile), in(stateFile)); err != nil {
		return err
	}
	return r.lock.Sync()
}

// Runs is the directory in which runs are kept that have no other place.
type Runs string

// maxRuns is how many of them are kept: the oldest ones give way.
const maxRuns = 20

// New is a run with a name of its own, which begins with name. The name is made of printable
// letters, the time and the pid, so it is unique on this machine.
func (root Runs) New(name string) (*Run, error) {
	letters := func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune(`/\:*?"'<>|&;$`+"`", r) {
			return '_'
		}
		return r
	}
	name = strings.TrimLeft(strings.Map(letters, name), ".-")
	id := time.Now().UTC().Format("20060102-150405")
	name = fmt.Sprintf("%s-%s-%d", name[:min(len(name), 100)], id, os.Getpid())
	r, err := New(filepath.Join(string(root), name))
	if err == nil {
		r.root = string(root)
	}
	return r, err
}

// Open opens the run of a name, or that in a directory; where there is no run of the name, the
// directory of the name is meant. A name with a separator is always a directory.
func (root Runs) Open(name string) (*Run, error) {
	dir := name
	if !strings.ContainsRune(name, filepath.Separator) {
		dir = filepath.Join(string(root), name)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			if here, err := os.Stat(name); err != nil || !here.IsDir() {
				return nil, fmt.Errorf("there is no saved run %s in %s%s; check the "+
					"name (a run that ends with holds or violated is removed)", name, root, root.list())
			}
			dir = name
		}
	}
	r, err := Open(dir)
	if err == nil && filepath.Dir(dir) == string(root) {
		r.root = string(root)
	}
	return r, err
}

// list names the newest of the runs that can be opened, for an error message.
func (root Runs) list() string {
	var names []string
	for _, run := range keptRuns(string(root)) {
		if run.whole {
			names = append(names, run.name)
		}
	}
	if len(names) == 0 {
		return ", nor any other"
	}
	slices.Reverse(names)
	const shown = 3
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("; the newest are: %s, and %d more", strings.Join(names[:shown], ", "), more)
	}
	return "; there are: " + strings.Join(names, ", ")
}

// keptRun is what is in the directory of runs. It may be a run that is being made, and has no state
// yet.
type keptRun struct {
	name  string
	whole bool // it has been saved
	at    time.Time
}

// keptRuns lists what is in the directory of runs, the oldest first.
func keptRuns(root string) []keptRun {
	entries, _ := os.ReadDir(root) // there may be none
	var runs []keptRun
	for _, e := range entries {
		run := keptRun{name: e.Name()}
		for _, name := range []string{"", previousFile, stateFile} {
			if info, err := os.Stat(filepath.Join(root, e.Name(), name)); err == nil {
				run.at, run.whole = info.ModTime(), name != ""
			}
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b keptRun) int { return a.at.Compare(b.at) })
	return runs
}

// prune removes the oldest runs that nobody goes on with, down to a limit. A run that is locked
// stays, whatever its age.
func prune(root string, limit int) {
	runs := keptRuns(root)
	for _, run := range runs[:max(0, len(runs)-limit)] {
		r := &Run{path: filepath.Join(root, run.name)}
		if r.takeLock() == nil {
			r.Remove() // what cannot be removed stays; it is not what the check is about
			r.Close()
		}
	}
}
