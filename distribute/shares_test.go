package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// chain are members that each hand a message on to the next part, and the last one to the front.
type chain struct {
	parts int
	mu    sync.Mutex
	// fails says how often a member of a part ends with an error before it hands anything on.
	fails map[int]int
	began int
}

func (c *chain) become(ctx context.Context, _ Run, _ string, m Member, p Post) error {
	c.mu.Lock()
	c.began++
	c.fails[m.Part]--
	fails := c.fails[m.Part] >= 0
	c.mu.Unlock()
	data, _, err := p.Receive(ctx)
	if err != nil || fails {
		return errors.Join(err, errors.New("it fails"))
	}
	to := m.Part + 1
	if to == c.parts {
		to = ToFront
	}
	return p.Send(ctx, to, append(data, byte('0'+m.Part)))
}

// joinShares has workers join that become members.
func joinShares(t *testing.T, url string, workers int, c *chain) *crew {
	crew := &crew{t: t, url: url, become: c.become}
	for range workers {
		crew.join()
	}
	t.Cleanup(crew.busy.Wait)
	return crew
}

// mustLeadShares leads a run with a key. What is told of a member that is gone names it.
func mustLeadShares(t *testing.T, o Options, become Become) *Shares {
	t.Helper()
	o.Dir = t.TempDir()
	s, err := LeadShares(t.Context(), o, Run{Package: "p", Key: "k"}, "/proc/self/exe", become,
		func(m Member, reason string, byItself bool) []byte {
			return fmt.Appendf(nil, "gone %d %v %s", m.Part, byItself, reason)
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(false) })
	return s
}

// TestShares: messages go from member to member, whether they fit or not, and members that end are
// told of. Another one gets the same messages.
func TestShares(t *testing.T) {
	t.Parallel()
	c := &chain{parts: 3, fails: map[int]int{1: 1}}
	s := mustLeadShares(t, Options{URL: Embedded}, c.become)
	crew := joinShares(t, s.URL(), 2, c)
	crew.await(s.Leader, 2)
	large := bytes.Repeat([]byte("x"), 2*maxMessage)
	if err := s.Send(t.Context(), 0, large); err != nil {
		t.Fatal(err)
	}
	for part := range c.parts {
		s.Start(Member{Part: part, Process: uint64(part + 1)})
	}
	var got []byte
	gone := map[string]bool{}
	for len(got) == 0 {
		data, _, err := s.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data[:min(len(data), 100)]); strings.HasPrefix(text, "gone") {
			gone[text] = true
			if text == "gone 1 true it fails" {
				s.Start(Member{Part: 1, Process: 9})
			}
			continue
		}
		got = data
	}
	if !bytes.Equal(got, append(large, "012"...)) || !gone["gone 1 true it fails"] {
		t.Errorf("%d bytes have come; gone: %v", len(got), gone)
	}
	if err := s.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Another search of the same run: nothing of the first is there.
	if err := s.Send(t.Context(), 2, []byte("y")); err != nil {
		t.Fatal(err)
	}
	s.Start(Member{Part: 2, Process: 10})
	for {
		data, _, err := s.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), "gone") {
			if string(data) != "y2" {
				t.Errorf("%q has come", data)
			}
			return
		}
	}
}

// TestSharesGoOn: whoever leads the same later gets what the leader before has sent, also what was
// too large for a message and would have the same name.
func TestSharesGoOn(t *testing.T) {
	t.Parallel()
	server := natsd.Start(t, t.TempDir())
	large := [][]byte{bytes.Repeat([]byte("x"), 2*maxMessage), bytes.Repeat([]byte("y"), 2*maxMessage)}
	for i, data := range large {
		s := mustLeadShares(t, Options{URL: server.URL}, nil)
		if i > 0 && !bytes.Equal(s.Last(), large[0]) {
			t.Errorf("the last message has %d bytes", len(s.Last()))
		}
		for _, to := range []int{ToLevels, ToFront} {
			if err := s.Send(t.Context(), to, data); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 {
			s.Close(true)
			continue
		}
		for _, want := range large {
			if got, _, err := s.Receive(t.Context()); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%.1q and so on, want %.1q, error %v", got, want, err)
			}
		}
	}
}

// TestSharesOthers: a search says what it removes of another one that was interrupted, and nothing
// of one that had not begun. That it has gone on in between changes nothing.
func TestSharesOthers(t *testing.T) {
	t.Parallel()
	server := natsd.Start(t, t.TempDir())
	lead := func(r Run) (*Shares, *said) {
		t.Helper()
		told := &said{}
		s, err := LeadShares(t.Context(), Options{URL: server.URL, Dir: t.TempDir(), Say: told.say}, r,
			"/proc/self/exe", nil, func(Member, string, bool) []byte { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return s, told
	}
	one := Run{Package: "p", Key: "k"}
	const removing = "removing the interrupted search of p at the server: its "
	for _, c := range []struct {
		run  Run
		want string
	}{
		{Run{Package: "p", Program: "x", Key: "l"}, removing + "program is another one"},
		{Run{Package: "p", Key: "l"}, removing + "arguments, parts or partition are others"},
	} {
		for range 2 {
			s, _ := lead(one)
			if err := s.Send(t.Context(), ToLevels, []byte("x")); err != nil {
				t.Fatal(err)
			}
			s.Close(true)
		}
		s, told := lead(c.run)
		s.Close(true)
		if !told.has(c.want) {
			t.Errorf("want %q, told %q", c.want, told.list)
		}
		s, told = lead(one)
		s.Close(false)
		if told.has("removing") {
			t.Errorf("a search that had not begun is removed: %q", told.list)
		}
	}
}

// TestSharesStored: a leader knows what the next one of the same search finds.
func TestSharesStored(t *testing.T) {
	t.Parallel()
	server := natsd.Start(t, t.TempDir())
	s := mustLeadShares(t, Options{URL: server.URL}, nil)
	is := func(want Stored, what string, errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil || s.Stored() != want || s.IsEmbedded() {
			t.Errorf("%s: stored %d, want %d; embedded %v; error %v", what, s.Stored(), want, s.IsEmbedded(),
				err)
		}
	}
	is(StoredNothing, "at the start", s.Send(t.Context(), ToFront, []byte("x")))
	is(StoredMessages, "a level has begun", s.Send(t.Context(), ToLevels, []byte("x")))
	s.Close(true)
	s = mustLeadShares(t, Options{URL: server.URL}, nil)
	is(StoredMessages, "another one goes on")
	s.Start(Member{Saved: []byte("x")})
	is(StoredCheckpoints, "a part has one")
	is(StoredMessages, "the search has ended", s.Forget(t.Context()))
	is(StoredCheckpoints, "the next search", s.Keep(t.Context(), 1, nil, nothing))
}

// TestSharesAlone: without a worker, members are where the run is led.
func TestSharesAlone(t *testing.T) {
	t.Parallel()
	c := &chain{parts: 1, fails: map[int]int{}}
	s := mustLeadShares(t, Options{URL: Embedded}, c.become)
	s.mu.Lock()
	s.alone = 0
	s.mu.Unlock()
	if err := s.Send(t.Context(), ToLevels, []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.Start(Member{Part: 0, Process: 1})
	// That the member has ended may be told before its message comes.
	for range 2 {
		data, _, err := s.Receive(t.Context())
		if err == nil && strings.HasPrefix(string(data), "gone") {
			continue
		}
		if err != nil || string(data) != "x0" {
			t.Errorf("%q, error %v", data, err)
		}
		return
	}
	t.Error("nothing comes but news of members")
}

// TestSharesFull: a disk that is full is told of, and what could not be sent is when there is room.
func TestSharesFull(t *testing.T) {
	t.Parallel()
	server := natsd.Start(t, t.TempDir())
	var told said
	s := mustLeadShares(t, Options{URL: server.URL, Say: told.say}, nil)
	// The server cannot make files any larger.
	if err := unix.Prlimit(server.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 200 << 10,
		Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("x"), maxMessage/2)
	sent := make(chan error, 1)
	go func() {
		for range 3 {
			if err := s.Send(t.Context(), ToFront, data); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	testkit.Await(t, "the full disk is told of", func() bool {
		return told.has("states cannot be sent", "room on its disk")
	})
	server.Kill()
	server.Restart() // with room
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if got, _, err := s.Receive(t.Context()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("message %d: %d bytes, error %v", i, len(got), err)
		}
	}
}

// TestSharesKeep: what is not needed any more goes, and nothing else. An object that is not there
// is lost, and one whose bytes have changed is.
func TestSharesKeep(t *testing.T) {
	t.Parallel()
	s := mustLeadShares(t, Options{URL: Embedded}, nil)
	ctx := t.Context()
	var places []uint64
	levels := newMail(s.connection, s.run.Key, "m", ToLevels)
	for i := range 3 {
		for _, to := range []int{ToLevels, 0, 1} {
			if err := s.Send(ctx, to, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		data, place, err := levels.Receive(ctx)
		if err != nil || !bytes.Equal(data, []byte{byte(i)}) {
			t.Fatalf("%v, error %v", data, err)
		}
		places = append(places, place)
	}
	levels.stop()
	for _, name := range []string{"a", "b"} {
		if err := s.Put(ctx, name, bytes.Repeat([]byte(name), 2*maxMessage)); err != nil {
			t.Fatal(err)
		}
	}
	// Part 0 begins with the last message, and part 1 with the second one.
	keep := func() error {
		return s.Keep(ctx, places[1], []uint64{places[2], places[1]},
			func(name string) bool { return name == "b" })
	}
	if err := errors.Join(keep(), keep()); err != nil {
		t.Fatal(err)
	}
	for to, first := range map[int]byte{ToLevels: 1, 0: 2, 1: 1} {
		m := newMail(s.connection, s.run.Key, "m", to)
		if data, _, err := m.Receive(ctx); err != nil || data[0] != first {
			t.Errorf("the first message to %d is %v, error %v", to, data, err)
		}
		m.stop()
	}
	if data, err := s.Get(ctx, "b"); err != nil || len(data) != 2*maxMessage {
		t.Errorf("%d bytes, error %v", len(data), err)
	}
	if _, err := s.Get(ctx, "a"); !errors.Is(err, ErrLost) {
		t.Errorf("what was removed: %v", err)
	}
}

// TestSharesForget: nothing is left of a search that has ended, but for its result. Messages that
// were too large are objects, and so are results.
func TestSharesForget(t *testing.T) {
	t.Parallel()
	s := mustLeadShares(t, Options{URL: Embedded}, nil)
	ctx := t.Context()
	large := bytes.Repeat([]byte("x"), 2*maxMessage)
	if err := s.Put(ctx, "b", large); err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{0, ToEnds} {
		if err := s.Send(ctx, to, large); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "b"); !errors.Is(err, ErrLost) {
		t.Errorf("what was forgotten: %v", err)
	}
	if list, err := s.mail.Ends(ctx); err != nil || len(list) != 1 || !bytes.Equal(list[0], large) {
		t.Errorf("%d results, error %v", len(list), err)
	}
	list, err := s.objects.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, o := range list {
		if strings.HasPrefix(o.Name, sharesSubject) {
			messages++
		}
	}
	if messages != 1 {
		t.Errorf("%d large messages are left", messages)
	}
}

// TestServerRelease: a server that cannot have what a search over states needs is refused, with
// what to do. One whose release nobody knows is tried.
func TestServerRelease(t *testing.T) {
	for version, want := range map[string]string{
		"2.9.10": "it is nats-server 2.9.10, and a search over states needs 2.10 or later",
		"1.4.1":  "start a newer one, or use --distribute embedded",
		"2.10.0": "", "2.12.3-RC.1": "", "3.0.0": "", "dev": "", "": "",
	} {
		err := isNewEnough(version)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", version, err, want)
		}
	}
}
