package ckptd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
	"github.com/tandem-mc/tandem/peers/watch"
)

// A group is started in two steps. The daemon starts the proxy and the peers, and returns what the
// checker needs to watch them. Then the checker waits until they are ready.

// prepare makes what is to be there before the peers start, where it was not made before. It is
// kept in the cache of the user, for the next group.
func prepare(ctx context.Context, g peers.Group) (peers.Group, error) {
	hasImage := func(p peers.Peer) bool { return p.Image.Digest != "" }
	if len(g.Prepare) == 0 && !slices.ContainsFunc(g.Peers, hasImage) {
		return g, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return g, fmt.Errorf("a place for what is prepared: %w", err)
	}
	g.Prepared = map[string]string{}
	for _, p := range g.Prepare {
		if g.Prepared[p.Path], err = p.Make(ctx, filepath.Join(cache, "tandem", "prepared"),
			paths.Scratch); err != nil {
			return g, err
		}
	}
	// The peers are the caller's.
	g.Trees, g.Peers = map[string]image.Tree{}, slices.Clone(g.Peers)
	for i, p := range g.Peers {
		if !hasImage(p) {
			continue
		}
		tree, err := image.Extract(ctx, p.Image, filepath.Join(cache, "tandem", "images"))
		if err == nil {
			g.Peers[i], err = p.In(tree)
		}
		if err != nil {
			return g, fmt.Errorf("peer %s: %w", p.Name, err)
		}
		g.Trees[p.Image.Digest] = tree
	}
	return g, nil
}

// checkUsers refuses peers that are to run as somebody who does not exist where they run. A user
// namespace that takes no privilege has one user, so the kernel would refuse it, with an error that
// says nothing of users.
func checkUsers(g peers.Group) error {
	if !unprivileged() {
		return nil
	}
	for _, p := range g.Peers {
		if who, err := p.Identity(); err != nil || !who.IsRoot() {
			return errors.Join(err, fmt.Errorf("peer %s is to run as another user, and without root there "+
				"is none: leave out its user and group, or run as root", p.Name))
		}
	}
	return nil
}

// launch starts a group without waiting for its peers to be ready.
//
// The description travels in a file without a name, since a message does not hold the contents of
// the files.
func (c *Client) launch(ctx context.Context, g peers.Group) (*Group, error) {
	pieces, err := wire.EncodeSpec(g)
	if err != nil {
		return nil, err
	}
	spec, err := sys.MemoryFile("tandem group", pieces...)
	if err != nil {
		return nil, err
	}
	defer unix.Close(spec)
	a, err := c.call(ctx, wire.Request{Operation: wire.OpStart}, []int{spec})
	if err != nil {
		return nil, err
	}
	// Those of the incarnation, the counters, and an output of the proxy and of each peer.
	want := ofIncarnation + 2 + len(g.Peers)
	if len(a.Descriptors) != want || len(a.Peers) != len(g.Peers) {
		c.discard(a)
		return nil, fmt.Errorf("the checkpoint daemon started %d of %d peers and gave %d of %d descriptors",
			len(a.Peers), len(g.Peers), len(a.Descriptors), want)
	}
	group := &Group{client: c, id: a.Group, ticks: watch.Ticks{}}
	for i, p := range g.Peers {
		group.processes = append(group.processes, peers.Process{Peer: p, PID: a.Peers[i]})
	}
	incarnation, rest := a.Descriptors[:ofIncarnation], a.Descriptors[ofIncarnation:]
	if group.counters, err = openCounters(rest[0]); err != nil {
		sys.CloseAll(incarnation)
		sys.CloseAll(rest[1:])
		return nil, errors.Join(err, group.Close())
	}
	for n, fd := range rest[1:] {
		o, err := readOutput(fd)
		if err != nil {
			sys.CloseAll(incarnation)
			sys.CloseAll(rest[1+n+1:])
			return nil, errors.Join(err, group.Close())
		}
		group.outputs = append(group.outputs, o)
	}
	err = group.adopt(incarnation)
	if err == nil {
		err = c.keep(group)
	}
	if err != nil {
		err = errors.Join(err, group.Close())
		return nil, fmt.Errorf("%w%s", err, group.lastWords())
	}
	return group, nil
}

// keep has Close release a group. If that is too late, the group has ended, or will at once.
func (c *Client) keep(g *Group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.groups[g] = true
	return nil
}

// discard lets go of an answer that nobody waits for any more. If a group was started, it is
// closed, since nobody else knows of it; discard does not wait for that.
func (c *Client) discard(a wire.Answer) {
	a.Close()
	if a.Group == 0 {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), wire.DefaultTimeout)
		defer cancel()
		// Where it fails, mostly since the daemon has ended, and the group with it, there is nobody
		// to tell.
		_, _ = c.call(ctx, wire.Request{Operation: wire.OpClose, Group: a.Group}, nil)
	}()
}

// forgetTimers is for images, of any group, that are not there any more. The daemon tells with each
// image which ones had to go for it.
func (c *Client) forgetTimers(images []string) {
	if len(images) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := range c.groups {
		g.timers.forget(images...)
	}
}
