package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/proxy"
)

// fakeBackend brings back nothing, fails where it is told to, and notes what it was asked for.
type fakeBackend struct {
	backend
	failAt string
	calls  []string
}

var errFake = errors.New("this fails")

func (b *fakeBackend) note(call string) error {
	b.calls = append(b.calls, call)
	if call == b.failAt {
		return errFake
	}
	return nil
}

func (b *fakeBackend) Prepare(context.Context, *incarnation.Incarnation, store.Saved,
	string) (incarnation.Restore, error) {
	return fakeRestore{b}, b.note("prepare")
}

type fakeRestore struct{ of *fakeBackend }

func (r fakeRestore) Stop(*incarnation.Incarnation, bool) error { return r.of.note("stop") }
func (r fakeRestore) Abort()                                    { r.of.note("abort") }
func (r fakeRestore) Start() (*incarnation.Started, error) {
	return &incarnation.Started{}, r.of.note("start")
}

// onDisk is what a backend has of an image that is files.
type onDisk struct{ store.Saved }

func (onDisk) InMemory() bool { return false }
func (onDisk) End()           {}

// savedGroupOf makes a group, whose file is "before", and an image of it; then the file is "after".
func savedGroupOf(t *testing.T) (*groupHost, *store.Image) {
	t.Helper()
	nothing := func() (int64, error) { return 0, nil }
	d := &daemon{networks: newNetworks(), store: &store.Store{Directory: t.TempDir(), MaxBytes: 1 << 20,
		MaxImages: 9, Used: nothing, Free: nothing}}
	h := d.newGroupHost(1, nil)
	h.files.directory = t.TempDir()
	testkit.WriteFile(t, filepath.Join(h.files.directory, "file"), "before")
	i, _, err := d.store.Create(h.id, store.History{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(i.Pages(), "core.img"), "pages")
	d.store.ReleaseFiles(i)
	i.Saved = onDisk{}
	if err := h.files.saveUnknown(i, store.MappedFiles{}); err != nil {
		t.Fatal(err)
	}
	if i.Manifest, err = store.ManifestOf(i.Directory); err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.Commit(i); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(h.files.directory, "file"), "after")
	return h, i
}

// TestRestoreInOrder: a restore that fails before anything was stopped changes nothing. One that
// fails later is aborted, and says that the group is down. Files are put back when everything is
// stopped, and before anything starts. Nothing is left open.
func TestRestoreInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		failAt string
		damage func(h *groupHost, i *store.Image) error // before the restore
		calls  []string
		file   string
		down   bool
		want   string // in the error
	}{
		"succeeds": {"", nil, []string{"prepare", "stop", "start"}, "before", true, ""},
		"prepare":  {"prepare", nil, []string{"prepare"}, "after", false, "this fails"},
		"stop": {"stop", nil, []string{"prepare", "stop", "abort"}, "after", false,
			"end the peers: this fails"},
		"start": {"start", nil, []string{"prepare", "stop", "start"}, "before", true, "this fails"},
		"pages are damaged": {"", func(_ *groupHost, i *store.Image) error {
			return os.WriteFile(filepath.Join(i.Pages(), "core.img"), []byte("pagex"), 0o600)
		}, []string{"prepare", "abort"}, "after", false, "pages/core.img has changed"},
		"pages are damaged, and the backend sees it": {"prepare", func(_ *groupHost, i *store.Image) error {
			return os.Remove(filepath.Join(i.Pages(), "core.img"))
		}, []string{"prepare"}, "after", false, "pages/core.img is missing"},
		"files cannot be put back": {"", func(h *groupHost, _ *store.Image) error {
			h.files.directory = filepath.Join(h.files.directory, "file") // no directory
			return nil
		}, []string{"prepare", "stop", "abort"}, "after", true, "put back the files: open "},
	} {
		t.Run(name, func(t *testing.T) {
			h, i := savedGroupOf(t)
			file := filepath.Join(h.files.directory, "file")
			if test.damage != nil {
				if err := test.damage(h, i); err != nil {
					t.Fatal(err)
				}
			}
			before := testkit.OpenFiles(t)
			by := &fakeBackend{failAt: test.failAt}
			_, err := h.bringBack(t.Context(), by, i)
			if test.want == "" && err != nil || test.want != "" &&
				(err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !slices.Equal(by.calls, test.calls) {
				t.Errorf("the backend is asked to %v, want %v", by.calls, test.calls)
			}
			if got := string(testkit.ReadFile(t, file)); got != test.file {
				t.Errorf("the file is that of %q, want %q", got, test.file)
			}
			if got := h.runs.down != nil; got != test.down {
				t.Errorf("the group is down: %v", h.runs.down)
			}
			damage := strings.Contains(name, "damaged")
			if errors.As(err, &damaged{}) != damage {
				t.Errorf("damage is reported: %v", err)
			}
			if after := testkit.OpenFiles(t); after != before {
				t.Errorf("%d descriptors are open, before there were %d", after, before)
			}
		})
	}
}

// TestAdoptFails: what was started and cannot be handed over is closed, channel and sockets, too.
func TestAdoptFails(t *testing.T) {
	h, _ := savedGroupOf(t)
	before := testkit.OpenFiles(t)
	network, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	next, err := incarnation.MakeNext(network, nil)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(next.Group) // by the restore
	s := &incarnation.Started{Next: next, Sockets: map[proxy.ID]int{
		1: testkit.Duplicate(t, int(network.Fd())), 2: testkit.Duplicate(t, int(network.Fd()))}}
	h.runs.process = ended(t)
	if descriptors, err := h.adopt(s); err == nil || len(descriptors) > 0 {
		t.Errorf("%v, %v", descriptors, err)
	}
	h.runs.process = nil
	unix.Close(h.runs.channel)
	h.runs.channel = -1
	h.runs.network.Close()
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestSocketsAhead: the first ones are handed over, in the order of their ids, and the others
// closed.
func TestSocketsAhead(t *testing.T) {
	before := testkit.OpenFiles(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	all := map[proxy.ID]int{}
	for id := range proxy.ID(maxAhead + 5) {
		all[id] = testkit.Duplicate(t, int(null.Fd()))
	}
	r := restored{descriptors: []int{-1}}
	r.addSockets(all)
	if len(r.sockets) != maxAhead || len(r.descriptors) != 1+maxAhead || !slices.IsSorted(r.sockets) {
		t.Errorf("%d sockets, %d descriptors", len(r.sockets), len(r.descriptors))
	}
	for n, id := range r.sockets {
		if r.descriptors[1+n] != all[id] {
			t.Fatalf("socket %d is descriptor %d", id, r.descriptors[1+n])
		}
		unix.Close(all[id])
	}
	if after := testkit.OpenFiles(t); after != before+1 {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestNoSuchImage: a group without the image stays what it is.
func TestNoSuchImage(t *testing.T) {
	h, i := savedGroupOf(t)
	for _, id := range []string{"", "g1-99", "g2-1", i.ID + "x"} {
		if _, err := h.restore(t.Context(), id); !errors.Is(err, wire.ErrImageGone) || h.runs.down != nil {
			t.Errorf("%q: %v, and the group is down: %v", id, err, h.runs.down)
		}
	}
}
