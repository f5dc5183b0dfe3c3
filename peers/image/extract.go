package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An image is extracted once, and kept in the cache of the user under its digest. It is made beside
// its place and moved there as a whole, so that nobody ever finds half of it.

const (
	// version is increased when trees are made in another way.
	version = "1"
	// unused is how long an image is kept that no group uses.
	unused = 7 * 24 * time.Hour
	// maxKept images are kept, the ones that were used last. One that was used in the time recent
	// may be in use.
	maxKept = 16
	recent  = 24 * time.Hour
	// making is how directories are called in which images are extracted.
	making = "making-"
	// described is the file beside a tree that has its description in JSON.
	described = "tree.json"
)

// Extract returns the tree of an image that was described, from the cache if it is there. The error
// says if it is another image by now.
func Extract(ctx context.Context, r Reference, cache string) (Tree, error) {
	// The name has no colon, so that no list of directories is cut there.
	name := version + "-" + strings.ReplaceAll(r.Digest, ":", "-")
	whole := filepath.Join(cache, name)
	if filepath.Base(name) != name {
		return Tree{}, fmt.Errorf("%.90q is no digest of an image: check again", r.Digest)
	}
	if t, err := kept(whole); err == nil {
		return t, nil
	}
	// The programs of an image are for its user only.
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return Tree{}, err
	}
	// Two processes that extract the same have directories of their own.
	work, err := os.MkdirTemp(cache, making)
	if err != nil {
		return Tree{}, err
	}
	defer os.RemoveAll(work)
	if err := extractTo(ctx, r, work); err != nil {
		return Tree{}, fmt.Errorf("extract the image %s: %w", r.Source, err)
	}
	forget(cache, name)
	err = os.Rename(filepath.Join(work, "whole"), whole)
	if err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return Tree{}, err
	}
	// If another process was faster, it is the one of that process.
	return kept(whole)
}

// kept reads the description of a tree that is there, and notes that it is used.
func kept(whole string) (t Tree, err error) {
	text, err := os.ReadFile(filepath.Join(whole, described))
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, err
	}
	t.Directory = whole
	if t.Library != "" {
		t.Library = filepath.Join(whole, t.Library)
	}
	now := time.Now()
	return t, os.Chtimes(whole, now, now)
}

// extractTo extracts an image to a directory whole in work.
func extractTo(ctx context.Context, r Reference, work string) error {
	// What an engine saves is an archive, as one that a user has saved.
	source, id := r.Source, ""
	if strings.HasPrefix(source, Engine) {
		id, source = r.Digest, filepath.Join(work, "saved.tar")
		if err := save(ctx, r.Digest, source); err != nil {
			return err
		}
	}
	a, wanted, err := openSource(source, work)
	if err != nil {
		return err
	}
	defer a.Close()
	i, err := find(a, wanted)
	if err != nil {
		return err
	}
	// An engine that was asked for this image has given it: its name may be that of the manifest.
	if id == "" && i.digest != r.Digest {
		return fmt.Errorf("it is another image by now, %s and not %s: check again", i.digest, r.Digest)
	}
	whole := filepath.Join(work, "whole")
	own := filepath.Join(whole, "own")
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	t, err := openTree(own)
	if err != nil {
		return err
	}
	defer t.Close()
	x := applier{tree: t, left: maxBytes}
	// Large images take long, and a check can be interrupted meanwhile.
	for n, l := range i.layers {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := x.apply(a, l); err != nil {
			return fmt.Errorf("layer %d of %d: %w", n+1, len(i.layers), err)
		}
	}
	// The description is only needed for its volumes and its directory here.
	d, err := i.config.describe()
	if err != nil {
		return err
	}
	arranged, err := arrange(t, whole, d)
	if err != nil {
		return err
	}
	// It is written last: where it is missing, the tree is not complete.
	text, err := json.Marshal(arranged)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(whole, described), text, 0o600)
}

// forget removes images that nobody has used for long, and what was left half made.
func forget(cache, except string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	// The time of a directory is when it was used last: see kept.
	used := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != except {
			used[e.Name()] = info.ModTime()
		}
	}
	names := make([]string, 0, len(used))
	for name := range used {
		names = append(names, name)
	}
	// The last one first.
	slices.SortFunc(names, func(a, b string) int { return used[b].Compare(used[a]) })
	// The one that is being made.
	kept := 1
	for _, name := range names {
		age := time.Since(used[name])
		if age > unused || kept >= maxKept && age > recent {
			// If that fails, it is tried again.
			os.RemoveAll(filepath.Join(cache, name))
		} else if !strings.HasPrefix(name, making) {
			kept++
		}
	}
}
