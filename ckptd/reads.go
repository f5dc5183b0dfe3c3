package ckptd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
)

// Reads is what the peers of a group have read that differs from run to run.
type Reads struct {
	Counted []shim.Read
	// Blind describes the processes of which nobody knows what they have read, and why.
	Blind []watch.Uninstrumented
}

// Reads says what the peers have read since the last call. The group must be quiescent.
// A restore forgets nothing: call it after one, too, to tell what is read from then on.
func (g *Group) Reads() (Reads, error) {
	g.operation.Lock()
	defer g.operation.Unlock()
	w, err := g.watch()
	if err != nil {
		return Reads{}, err
	}
	var r Reads
	r.Blind = w.Uninstrumented(shim.Libraries{Library: shimInGroup, VDSO: vdsoInGroup})
	if g.client.noShim != nil {
		r.Blind = []watch.Uninstrumented{{Executable: "all", Why: fmt.Sprintf("there is no shim: %v", g.client.noShim)}}
	}
	r.Counted = g.page.Reads(g.processes)
	g.unrepeatable = g.unrepeatable || len(r.Blind) > 0 || slices.ContainsFunc(r.Counted, func(read shim.Read) bool { return !read.Chosen })
	return r, nil
}

// openPage takes over the descriptor of a page.
func openPage(fd int) (*shim.Counters, error) {
	f := os.NewFile(uintptr(fd), "page of a peer group")
	defer f.Close()
	return shim.OpenCounters(f)
}

// Where a group finds the shim and its page. They are no part of a checkpoint.
const (
	shimInGroup = runDirectory + "/" + proxyDirectory + "/nd.so"
	pageInGroup = runDirectory + "/" + proxyDirectory + "/nd"
)

// takeShim copies the shim to where groups are made.
func (d *daemon) takeShim(s shim.Libraries) (err error) {
	for to, from := range map[string]string{shimFile: s.Library, vdsoFile: s.VDSO} {
		if err := errors.Join(copyContent(from, to), os.Chmod(to, 0o755)); err != nil {
			return err
		}
	}
	d.hasShim = true
	d.vdso, err = readVDSO(vdsoFile)
	return err
}

// installShim puts the shim and its page into the directory of the proxy, and the shim
// into the environment of the peers.
func (h *hosted) installShim(own string, started []peers.Peer, start time.Time) error {
	page, err := os.OpenFile(filepath.Join(own, filepath.Base(pageInGroup)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	h.page = page
	if err := page.Chmod(0o666); err != nil { // a peer may become another user
		return err
	}
	if err := page.Truncate(shim.CountersSize); err != nil {
		return err
	}
	if !h.daemon.hasShim {
		return nil
	}
	for i := range started {
		started[i].Env = shim.Environment(started[i], i, shimInGroup, pageInGroup, start)
	}
	return errors.Join(
		os.Link(shimFile, filepath.Join(own, filepath.Base(shimInGroup))),
		os.Link(vdsoFile, filepath.Join(own, filepath.Base(vdsoInGroup))))
}
