package check

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestSpillingCheck: with less memory for the answers of the peers than they take the verdict is
// the same, and if they cannot be read back that is an error.
func TestSpillingCheck(t *testing.T) {
	want, all, _ := withCacheBytes(t, 0)
	verdict, stats, notes := withCacheBytes(t, all.Bytes-100)
	if verdict != want || all.Spilled > 0 || stats.Spilled == 0 || len(notes) > 0 {
		t.Errorf("%+v, %+v, %q; without a limit %+v, %+v", verdict, stats, notes, want, all)
	}
	// On a full disk it takes some memory more, and says so.
	verdict, stats, notes = withCacheBytes(t, all.Bytes-100, &lossyStore{isFull: true})
	if verdict != want || stats.Spilled > 0 || len(notes) != 1 ||
		!strings.Contains(notes[0], syscall.ENOSPC.Error()) || !strings.Contains(notes[0], "TMPDIR") {
		t.Errorf("on a full disk %+v, %+v, %q; without a limit %+v, %+v", verdict, stats, notes, want, all)
	}
}

// withCacheBytes is the verdict of a check with so much memory for the answers, what they took, and
// what is said of it. Files are those of the machine, unless there is another store.
func withCacheBytes(t *testing.T, limit int64, store ...iocache.Store) (v explore.Verdict,
	stats iocache.Stats, notes []string) {
	o := httpGet.options(t)
	o.CacheBytes = limit
	o.Group.Peers[0].Choices = 1 // always the same dates, so always as many different answers
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range store {
		r.peers.Cache().SpillTo(s)
	}
	r.config.Kind = func(*sut.Log, explore.Outcome) string {
		stats = r.peers.Cache().Stats()
		return ""
	}
	result, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range result.Notes {
		if strings.Contains(note, "cache_mib") {
			notes = append(notes, note)
		}
	}
	return result.Verdict, stats, notes
}

func TestLostAnswersAreAnError(t *testing.T) {
	r, err := newRun(context.Background(), httpGet.options(t), interest{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.executor.Close()
	defer r.peers.Close()
	runOnce(t, r, sut.Schedule{})
	file := &lossyStore{}
	if _, err := file.Append([]byte("something")); err != nil {
		t.Fatal(err)
	}
	r.peers.Cache().SpillTo(file)
	r.peers.Cache().Limit(1)
	conn := r.executor.Session()
	conn.Rewind()
	in := model.Input{Kind: model.Connect, Addr: "127.0.0.1:1", Name: "1"}
	if _, err := conn.Exchange(in); err == nil { // no room, so all is spilled
		t.Fatal("there is room")
	}
	file.lost = true
	var lost *iocache.SpillError
	if _, err := r.executor.Run(sut.Schedule{}); !errors.As(err, &lost) ||
		!strings.Contains(err.Error(), "cannot read back") {
		t.Errorf("the error is %v", err)
	}
}

// lossyStore is a store that may lose what it has.
type lossyStore struct {
	data   []byte
	lost   bool
	isFull bool
}

// Append implements iocache.Store.
func (s *lossyStore) Append(data []byte) (int64, error) {
	if s.isFull {
		return 0, syscall.ENOSPC
	}
	s.data = append(s.data, data...)
	return int64(len(s.data) - len(data)), nil
}

// ReadAt implements iocache.Store.
func (s *lossyStore) ReadAt(data []byte, offset int64) (int, error) {
	if s.lost {
		return 0, io.EOF
	}
	return copy(data, s.data[offset:]), nil
}

// TestCrowdedCrews: crews share cache_mib. What a report says of caches that took more names the
// number in the configuration, once.
func TestCrowdedCrews(t *testing.T) {
	config, err := configs.Load(filepath.Join(tree, "examples", alphabet.config))
	if err != nil {
		t.Fatal(err)
	}
	config.CacheMib = 8
	c := nodes.Config{Crews: 4}
	b, err := newPeersBeside(Request{Config: config}, &c)
	if err != nil || b.options.CacheBytes != 2<<20 {
		t.Fatalf("%v, %+v", err, b)
	}
	var caches []*iocache.Cache
	b.crews.Driver = func() *driver.Driver {
		d := driver.New(t.Context(), b.options.driver(iocache.Group))
		b.options.limit(d.Cache())
		d.Cache().SpillTo(&lossyStore{isFull: true})
		caches = append(caches, d.Cache())
		return d
	}
	for i := range c.Crews {
		c.Peers.New()
		at, err := caches[i].Record(iocache.Root, model.Input{Kind: model.Connect, Addr: "127.0.0.1:1"},
			iocache.Reaction{})
		for _, size := range []int{1 << 20, 1<<20 + i<<10} {
			if err == nil {
				at, err = caches[i].Record(at, model.Input{Kind: model.Send, Data: []byte("more")},
					iocache.Reaction{Deliveries: []model.Delivery{{Data: make([]byte, size)}}})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var run report.Run
	b.tell(&run)
	var notes []string
	for _, line := range run.Details {
		if strings.Contains(line, "cache_mib") {
			notes = append(notes, line)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "each of 4 workers has (cache_mib is 8)") {
		t.Errorf("%q", notes)
	}
	if err := b.crews.Close(); err != nil {
		t.Error(err)
	}
}
