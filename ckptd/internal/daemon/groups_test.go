package daemon

import (
	"errors"
	"os/exec"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// ended is a child that has ended, and was reaped.
func ended(t *testing.T) *reaper.Child {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	close(done)
	return &reaper.Child{PID: cmd.Process.Pid, Done: done}
}

// TestGroups against a list: ids are never given twice, only those are found that were added and
// not closed, and there is a most.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &daemon{store: &store.Store{}}
		g := newGroups()
		var twin []uint64
		last := uint64(0)
		for range rapid.IntRange(1, 3*wire.MaxGroups).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") > 0 {
				h, err := g.add(func(id uint64) *groupHost {
					h := d.newGroupHost(id, nil)
					h.layout.directory = "/nonexistent/group"
					return h
				})
				if full := len(twin) == wire.MaxGroups; full != (err != nil) {
					t.Fatalf("with %d groups: %v", len(twin), err)
				}
				if err == nil {
					if last++; h.id != last {
						t.Fatalf("group %d after %d", h.id, last-1)
					}
					twin = append(twin, h.id)
				}
				continue
			}
			id := rapid.Uint64Range(0, last+1).Draw(t, "id")
			h, err := g.find(id)
			at := slices.Index(twin, id)
			if (at >= 0) != (err == nil) || err != nil && !errors.Is(err, wire.ErrGroupDown) {
				t.Fatalf("group %d: %v", id, err)
			}
			if err == nil {
				if err := g.close(h); err != nil || !errors.Is(h.runs.down, wire.ErrGroupDown) {
					t.Fatalf("close group %d: %v", id, err)
				}
				twin = slices.Delete(twin, at, at+1)
			}
		}
		var ids []uint64
		for _, s := range g.status() {
			ids = append(ids, s.ID)
		}
		if !slices.Equal(ids, twin) {
			t.Errorf("groups %d, want %d", ids, twin)
		}
	})
}

// TestQueues against a list: a request waits for all that came before it and are about the same
// group, but for those that are about no group and those that wait for its end.
func TestQueues(t *testing.T) {
	type request struct {
		wire.Request
		before <-chan struct{}
		after  chan<- struct{}
		done   bool
	}
	rapid.Check(t, func(t *rapid.T) {
		q := queues{}
		var all []*request
		// waits tells by the list whether a request has to wait: for all of its group, up to the
		// last one that closes it.
		waits := func(n int) bool {
			r := all[n]
			if r.Group == 0 || r.Operation == wire.OpCause {
				return false
			}
			for k := n - 1; k >= 0; k-- {
				o := all[k]
				if o.Group != r.Group || o.Operation == wire.OpCause {
					continue
				}
				if o.Operation == wire.OpClose { // what follows finds no group
					return false
				}
				if !o.done {
					return true
				}
			}
			return false
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "a new one") || len(all) == 0 {
				r := &request{Request: wire.Request{Group: rapid.Uint64Range(0, 2).Draw(t, "group"),
					Operation: rapid.SampledFrom([]string{wire.OpCheckpoint, wire.OpRestore, wire.OpCause,
						wire.OpClose}).Draw(t, "operation")}}
				r.before, r.after = q.enqueue(r.Request)
				all = append(all, r)
			} else if n := rapid.IntRange(0, len(all)-1).Draw(t, "which ends"); !all[n].done && !waits(n) {
				all[n].done = true
				close(all[n].after)
			}
			for n, r := range all {
				turn := false
				select {
				case <-r.before:
					turn = true
				default:
				}
				if turn == waits(n) {
					t.Fatalf("request %d, %s of group %d, has its turn: %t", n, r.Operation, r.Group, turn)
				}
			}
		}
	})
}

// TestNetworksAhead: one is made ahead, and no more; each is given once.
func TestNetworksAhead(t *testing.T) {
	before := testkit.OpenFiles(t)
	n := newNetworks()
	for range 3 {
		n.makeSpare()
	}
	if got := testkit.OpenFiles(t); got != before+1 || len(n.spare) != 1 {
		t.Errorf("%d descriptors are open, before there were %d", got, before)
	}
	for range 2 { // the one that is there, and a new one
		next, err := n.makeNext(nil)
		if err != nil {
			t.Fatal(err)
		}
		next.Close()
	}
	if _, err := n.makeNext(func() error { return errFake }); !errors.Is(err, errFake) {
		t.Errorf("what is to be done inside: %v", err)
	}
	if got := testkit.OpenFiles(t); got != before {
		t.Errorf("%d descriptors are open, before there were %d", got, before)
	}
}

// TestChildrenWithout leaves out copies, and nothing else.
func TestChildrenWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		children := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 9).Draw(t, "children")
		hidden := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 9).Draw(t, "copies")
		want := ""
		for _, pid := range children {
			if !slices.Contains(hidden, pid) {
				want += string(rune('0'+pid)) + " "
			}
		}
		if got := childrenWithout(children, hidden); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestOwners: everything is the one user's where there is one, and everybody's where there are two.
// What is named like a peer is that peer's.
func TestOwners(t *testing.T) {
	for name, test := range map[string]struct {
		users  []string
		common uint32
		shared bool
	}{
		"root's":          {[]string{"", ""}, 0, false},
		"one of them":     {[]string{"", "33"}, 33, false},
		"the same":        {[]string{"33", "33"}, 33, false},
		"different users": {[]string{"33", "34"}, 0, true},
	} {
		var all []peers.Peer
		for n, user := range test.users {
			all = append(all, peers.Peer{Name: string(rune('a' + n)), User: user})
		}
		o, err := ownersOf(all)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if o.common.UID != test.common || o.shared != test.shared {
			t.Errorf("%s: %+v", name, o)
		}
		for _, p := range all {
			who, err := p.Identity()
			if err != nil || o.of(p.Name+"/data/x").UID != who.UID {
				t.Errorf("%s: the data of %s is %d's, %v", name, p.Name, o.of(p.Name+"/data").UID, err)
			}
		}
		if o.of("data").UID != test.common {
			t.Errorf("%s: other data is %d's", name, o.of("data").UID)
		}
	}
}
