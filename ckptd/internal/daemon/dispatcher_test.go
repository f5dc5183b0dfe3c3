package daemon

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestDaemonGivesUpFirst: a request that takes too long is answered all the same, once, with what
// it waits for.
func TestDaemonGivesUpFirst(t *testing.T) {
	nothing := func() (int64, error) { return 0, nil }
	d := &daemon{store: &store.Store{Used: nothing, Free: nothing}, groups: newGroups()}
	d.groups.mu.Lock()
	replies, ended := make(chan wire.Response, 2), make(chan struct{})
	r := wire.Request{Operation: wire.OpStatus, TimeoutMillis: 1}
	go func() {
		defer close(ended)
		(&dispatcher{daemon: d}).inTime(r, func() (wire.Response, []int) { return d.handle(r, nil) },
			func(answer wire.Response, _ []int) bool { replies <- answer; return true })
	}()
	got := (<-replies).Error
	for _, want := range []string{"gives up after 1ms (status of group 0)",
		"(*groups).status < (*daemon).status < (*daemon).handle", "sync.Mutex.Lock"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	d.groups.mu.Unlock()
	<-ended
	if len(replies) > 0 {
		t.Errorf("it is answered again: %+v", <-replies)
	}
}

// TestAnswerInTime is that of the request itself, with its descriptors, which are closed then.
func TestAnswerInTime(t *testing.T) {
	before := testkit.OpenFiles(t)
	file, err := wire.MemoryJSON("x")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	new(dispatcher).inTime(wire.Request{Operation: wire.OpStatus},
		func() (wire.Response, []int) { return wire.Response{Image: "i"}, []int{file} },
		func(r wire.Response, given []int) bool {
			if got = given; r.Image != "i" {
				t.Errorf("%+v", r)
			}
			return true
		})
	if len(got) != 1 || got[0] != file {
		t.Errorf("descriptors %v, not %d", got, file)
	}
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestDescriptorsThatCannotBeSent: the checker is told so, and does not wait for ever.
func TestDescriptorsThatCannotBeSent(t *testing.T) {
	checkReplaced(t, wire.Response{Image: "i"}, []int{-1}, "send 1 descriptors: bad file descriptor")
}

// TestReplyThatCannotBeEncoded is an error for the checker, and not the end of all groups.
func TestReplyThatCannotBeEncoded(t *testing.T) {
	checkReplaced(t, wire.Response{Refusal: strings.Repeat("\x01", wire.MaxMessage/4)}, nil,
		"encode the reply: a message of 98")
}

// checkReplaced sends a reply that cannot be sent, and looks at the error that is sent in its
// place.
func checkReplaced(t *testing.T, r wire.Response, descriptors []int, want string) {
	t.Helper()
	a, b := testkit.SocketPair(t)
	if wire.Reply(a, 7, r, descriptors) {
		t.Error("it was sent")
	}
	message, got, err := wire.Receive(b)
	var instead wire.Response
	var sequence uint32
	if err == nil {
		sequence, err = wire.Decode(message, wire.ReplyKind, &instead)
	}
	if err != nil || sequence != 7 || len(got) > 0 || !strings.Contains(instead.Error, want) {
		t.Errorf("%d: %+v with descriptors %v, %v", sequence, instead, got, err)
	}
}

// TestStartThatNobodyWaitsFor: where the checker was not told that its group runs, the daemon
// closes it.
func TestStartThatNobodyWaitsFor(t *testing.T) {
	for name, late := range map[string]bool{"given up": true, "not sent": false} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{store: &store.Store{}, groups: newGroups()}
			d.groups.last = 6
			h, err := d.groups.add(func(id uint64) *groupHost { return d.newGroupHost(id, nil) })
			if err != nil {
				t.Fatal(err)
			}
			h.layout.directory = t.TempDir()
			given := make(chan bool)
			answers := 0
			r := wire.Request{Operation: wire.OpStart, TimeoutMillis: 1}
			(&dispatcher{daemon: d}).inTime(r, func() (wire.Response, []int) {
				if late {
					<-given // up
				}
				return wire.Response{Group: h.id}, nil
			}, func(r wire.Response, _ []int) bool {
				if answers++; late {
					close(given)
				}
				return false
			})
			if answers != 1 || len(d.groups.all) != 0 || h.runs.down == nil {
				t.Errorf("after %d answers there are %d groups, and this one is down: %v", answers,
					len(d.groups.all), h.runs.down)
			}
		})
	}
}

func TestRequestsForAGroupKeepTheirOrder(t *testing.T) {
	q := queues{}
	first, second := wire.Request{Group: 1, Operation: wire.OpRestore},
		wire.Request{Group: 1, Operation: wire.OpCheckpoint}
	waits := func(before <-chan struct{}) bool {
		select {
		case <-before:
			return false
		default:
			return true
		}
	}
	before1, after1 := q.enqueue(first)
	before2, after2 := q.enqueue(second)
	cause, _ := q.enqueue(wire.Request{Group: 1, Operation: wire.OpCause})
	other, _ := q.enqueue(wire.Request{Group: 2, Operation: wire.OpRestore})
	none, _ := q.enqueue(wire.Request{Operation: wire.OpStart})
	last, _ := q.enqueue(wire.Request{Group: 1, Operation: wire.OpClose})
	if waits(before1) || !waits(before2) || waits(cause) || waits(other) || waits(none) || !waits(last) {
		t.Error("not the second and the last one, and only they, wait at first")
	}
	if close(after1); waits(before2) || !waits(last) {
		t.Error("not the last one, and only it, waits after the first")
	}
	if close(after2); waits(last) {
		t.Error("the last one waits for nobody")
	}
	if len(q) != 1 {
		t.Errorf("%d queues are kept for one open group", len(q))
	}
}
