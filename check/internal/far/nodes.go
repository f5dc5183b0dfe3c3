package far

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/sut"
)

// nodesSetup is what a worker has to know of several programs that are checked together. Their
// executables come as one file, one after the other.
type nodesSetup struct {
	Config nodes.Config
	Sizes  []int64 // of the executables, in bytes
	Which  []int   // of these is the program of each node
	First  string  // digest of what the nodes do without schedules; empty: they cannot be run so
}

// NodesLeader has nodes explored by the workers of a server.
type NodesLeader struct {
	lead
	cleanPrograms func() // removes the file that is given out
}

// LeadNodes has the workers of a server help with a check of several programs (Config.Away); nil if
// nobody is to. The nodes run once, before the search. The caller has to close the leader. A leader
// that is nil can be closed.
func LeadNodes(ctx context.Context, c *nodes.Config, o Options) (*NodesLeader, error) {
	if o.Server == "" {
		return nil, nil
	}
	s := nodesSetup{Config: *c}
	if c.Peers != nil { // they stay here
		there := *c.Peers
		there.New, s.Config.Peers = nil, &there
	}
	var err error
	if s.First, err = firstOfNodes(ctx, s.Config); err != nil {
		return nil, fmt.Errorf("telling workers what to check: %w", err)
	}
	dir, clean, err := scratch.Make()
	if err != nil {
		return nil, err
	}
	// A server that has lost what it had gets the file again, so it stays until the end.
	l := &NodesLeader{lead{options: o}, clean}
	if err := l.giveOut(ctx, &s, filepath.Join(dir, "programs")); err != nil {
		clean()
		return nil, err
	}
	c.Away = l
	return l, nil
}

// giveOut begins the check, with all programs in a file that it writes.
func (l *NodesLeader) giveOut(ctx context.Context, s *nodesSetup, all string) error {
	if err := s.pack(all); err != nil {
		return fmt.Errorf("giving the programs out: %w", err)
	}
	run := distribute.Run{Package: s.Config.Directory}
	var err error
	if run.Program, err = sut.HashFile(all); err == nil {
		run.Setup, err = json.Marshal(setup{Nodes: s})
	}
	if err != nil {
		return fmt.Errorf("telling workers what to check: %w", err)
	}
	return l.begin(ctx, run, all)
}

// Close ends what LeadNodes has started.
func (l *NodesLeader) Close() {
	if l != nil {
		l.end(0)
		l.cleanPrograms()
	}
}

// Gather implements away.Workers.
func (l *NodesLeader) Gather(executions int) int {
	l.Note(executions)
	return l.Workers()
}

// Do implements away.Workers. It waits for the worker.
func (l *NodesLeader) Do(ctx context.Context, task []byte) (answer []byte, done bool) {
	data, err := frame(struct{}{}, task)
	if err != nil {
		return nil, false
	}
	result, err := l.Explore(ctx, data, nil)
	if err == nil {
		answer, err = unframe(result, &struct{}{})
	}
	return answer, err == nil
}

// firstOfNodes is a digest of what nodes do that nobody schedules.
func firstOfNodes(ctx context.Context, c nodes.Config) (string, error) {
	h, err := nodes.NewHelper(ctx, c)
	if err != nil {
		return "", err
	}
	defer h.Close()
	return h.First()
}

// pack writes the executables to one file, each once.
func (s *nodesSetup) pack(to string) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	at := map[string]int{}
	for _, n := range s.Config.Nodes {
		which, packed := at[n.Program.Path]
		if !packed {
			which = len(s.Sizes)
			at[n.Program.Path] = which
			size, err := appendFile(f, n.Program.Path)
			if err != nil {
				return err
			}
			s.Sizes = append(s.Sizes, size)
		}
		s.Which = append(s.Which, which)
	}
	return nil
}

// appendFile copies a file to the end of another one.
func appendFile(to io.Writer, path string) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(to, f)
}

// unpack writes the executables to files of their own in a directory, and has the nodes be these.
func (s *nodesSetup) unpack(from, dir string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	var paths []string
	for i, size := range s.Sizes {
		path := filepath.Join(dir, strconv.Itoa(i))
		out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
		if err != nil {
			return err
		}
		_, err = io.CopyN(out, f, size)
		if e := out.Close(); err == nil {
			err = e
		}
		if err != nil {
			return fmt.Errorf("unpacking program %d of %d: %w", i+1, len(s.Sizes), err)
		}
		paths = append(paths, path)
	}
	for i, which := range s.Which {
		n := &s.Config.Nodes[i]
		if n.Program, err = sut.Moved(n.Program, paths[which]); err != nil {
			return err
		}
	}
	return nil
}

// nodesExplorer explores items of a check of several programs.
type nodesExplorer struct {
	*nodes.Helper
	clean func() // removes the programs
}

// startNodes is start for several programs.
func startNodes(ctx context.Context, s *nodesSetup, programs string) (distribute.Explorer, error) {
	dir, clean, err := scratch.Make()
	if err != nil {
		return nil, err
	}
	x := &nodesExplorer{clean: clean}
	first := ""
	if err = s.unpack(programs, dir); err == nil {
		x.Helper, err = nodes.NewHelper(ctx, s.Config)
	}
	if err != nil {
		clean()
		return nil, err
	}
	if first, err = x.First(); err == nil && first != s.First {
		err = fmt.Errorf(differs, "nodes do", "they do", "they read", s.Config.Worker.Dir)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Explore implements distribute.Explorer.
func (x *nodesExplorer) Explore(part []byte, stop func() bool) (result []byte, executions int, err error) {
	task, err := unframe(part, &struct{}{})
	if err != nil {
		return nil, 0, fmt.Errorf("reading a part: %w", err)
	}
	answer, executions, err := x.Helper.Explore(task, stop)
	if err != nil || answer == nil {
		return nil, executions, err
	}
	result, err = frame(struct{}{}, answer)
	return result, executions, err
}

// Close implements distribute.Explorer.
func (x *nodesExplorer) Close() {
	x.Helper.Close()
	x.clean()
}
