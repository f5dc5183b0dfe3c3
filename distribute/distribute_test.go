package distribute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

func TestMain(m *testing.M) {
	natsd.Main()
	os.Exit(m.Run())
}

// digests explores parts: what it finds is their digest, in one execution.
type digests struct {
	explored *atomic.Int64
	// hold is called with each part, while it is explored; nil: nobody is.
	hold func(part []byte, stop func() bool)
}

func (d digests) Explore(part []byte, stop func() bool) ([]byte, int, error) {
	if d.hold != nil {
		d.hold(part, stop)
	}
	d.explored.Add(1)
	return digest(part), 1, nil
}

func (digests) Close() {}

// digest is what is found in a part, as large as the part.
func digest(part []byte) []byte {
	sum := sha256.Sum256(part)
	return append(sum[:], part...)
}

// crew are workers in this process.
type crew struct {
	t    *testing.T
	url  string
	make Start
	// become has members; nil: there are none.
	become Become
	said   said
	own    Identity

	busy     sync.WaitGroup
	explored atomic.Int64
}

// said is what was said.
type said struct {
	mu   sync.Mutex
	list []string
}

func (s *said) say(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, fmt.Sprintf(format, a...))
}

// has reports whether something was said that contains all words.
func (s *said) has(words ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.list {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return true
		}
	}
	return false
}

// recruit has workers join a server, which explore with hold.
func recruit(t *testing.T, url string, workers int, hold func([]byte, func() bool)) *crew {
	c := &crew{t: t, url: url}
	c.make = func(context.Context, Run, string, Ask) (Explorer, error) {
		return digests{&c.explored, hold}, nil
	}
	for range workers {
		c.join()
	}
	t.Cleanup(c.busy.Wait)
	return c
}

// join has another worker join; it ends with the test, or with what is returned.
func (c *crew) join() (end func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	c.busy.Go(func() {
		err := Work(ctx, Options{URL: c.url, Say: c.said.say}, c.own, c.make, c.become)
		if err != nil && ctx.Err() == nil {
			c.t.Errorf("a worker has ended: %v", err)
		}
	})
	return cancel
}

// lead leads a run with a program of so many bytes.
func lead(t *testing.T, o Options, size int) (*Leader, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	return Lead(t.Context(), o, Run{Package: "p"}, program)
}

func mustLead(t *testing.T, o Options) *Leader {
	t.Helper()
	l, err := lead(t, o, 100<<10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// await waits until so many workers are at work.
func (c *crew) await(l *Leader, workers int) {
	c.t.Helper()
	testkit.Await(c.t, fmt.Sprint(workers, " workers"), func() bool { return l.Workers() >= workers })
}

// explores has parts explored, so many at a time, each until somebody does. It returns how often
// nobody did.
func explores(t *testing.T, l *Leader, parts, together int) (again int64) {
	t.Helper()
	var next, left atomic.Int64
	var busy sync.WaitGroup
	for range together {
		busy.Go(func() {
			for n := next.Add(1); n <= int64(parts) && t.Context().Err() == nil; n = next.Add(1) {
				part := fmt.Appendf(nil, "part %d", n)
				if n%10 == 0 {
					part = append(part, make([]byte, maxMessage)...) // through the object store
				}
				found, err := l.Explore(t.Context(), part, nil)
				for ; errors.Is(err, ErrUnexplored); left.Add(1) {
					found, err = l.Explore(t.Context(), part, nil)
				}
				if err != nil || string(found) != string(digest(part)) {
					t.Errorf("part %d: found %d bytes, %v", n, len(found), err)
				}
			}
		})
	}
	busy.Wait()
	return left.Load()
}

// TestParts: each part is explored once, by some worker, small or large; the status says so.
func TestParts(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	c := recruit(t, l.URL(), 3, nil)
	c.await(l, 3)
	if again := explores(t, l, 60, 6); again > 0 {
		t.Errorf("%d parts were not explored at first", again)
	}
	p := l.Progress().Parts
	if c.explored.Load() != 60 || p.Given != 60 || p.Done != 60 || p.Executions != 60 || p.Open() != 0 {
		t.Errorf("%d parts were explored, %+v", c.explored.Load(), p)
	}
	l.Note(7)
	testkit.Await(t, "a status with 60 parts", func() bool {
		s, err := StatusOf(t.Context(), Options{URL: l.URL()})
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, w := range s.Workers {
			done += w.Executions
		}
		return s.Progress != nil && s.Progress.Executions == 7 && s.Progress.Parts.Done == 60 &&
			len(s.Workers) == 3 && done == 60
	})
}

// TestWanted: a part that is wanted ends early, with what was found; one that nobody has begun with
// is not waited for.
func TestWanted(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	begun := make(chan struct{})
	c := recruit(t, l.URL(), 1, func(_ []byte, stop func() bool) {
		close(begun) // once
		testkit.Await(t, "the part is wanted", stop)
	})
	c.await(l, 1)
	wanted, now := make(chan struct{}), make(chan struct{})
	close(now)
	var busy sync.WaitGroup
	defer busy.Wait()
	busy.Go(func() {
		if found, err := l.Explore(t.Context(), []byte("one"), wanted); err != nil ||
			string(found) != string(digest([]byte("one"))) {
			t.Errorf("found %q, %v", found, err)
		}
	})
	<-begun
	if _, err := l.Explore(t.Context(), []byte("two"), now); !errors.Is(err, ErrUnexplored) {
		t.Errorf("a part that nobody has begun with: %v", err)
	}
	testkit.Await(t, "the leader knows", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.books.Begun(1)
	})
	close(wanted)
}

// TestGivenUp: a worker is told to end with a part that nobody waits for any more.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	asking, giveUp := context.WithCancel(t.Context())
	told := make(chan struct{})
	c := recruit(t, l.URL(), 1, func(_ []byte, stop func() bool) {
		defer close(told) // once
		giveUp()
		testkit.Await(t, "the part is given up", stop)
	})
	c.await(l, 1)
	if _, err := l.Explore(asking, []byte("one"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a part that was given up: %v", err)
	}
	<-told
}

// TestFreeAtTheEnd: when a run ends, a worker ends with its part, and is there for the next run.
func TestFreeAtTheEnd(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	l := mustLead(t, Options{URL: s.URL})
	begun := make(chan struct{})
	c := recruit(t, s.URL, 0, func(part []byte, stop func() bool) {
		if string(part) == "endless" {
			close(begun)
			testkit.Await(t, "the part is given up", stop)
		}
	})
	end := c.join()
	defer end()
	c.await(l, 1)
	var busy sync.WaitGroup
	busy.Go(func() {
		if _, err := l.Explore(t.Context(), []byte("endless"), nil); !errors.Is(err, ErrUnexplored) {
			t.Errorf("a part of a run that has ended: %v", err)
		}
	})
	<-begun
	l.Close()
	busy.Wait()
	next := mustLead(t, Options{URL: s.URL})
	c.await(next, 1)
	explores(t, next, 1, 1)
}

// TestSilentWorker: the part of a worker that has ended is given to another one.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	begun := make(chan struct{}, 1)
	c := recruit(t, l.URL(), 0, nil)
	c.make = func(ctx context.Context, _ Run, _ string, _ Ask) (Explorer, error) {
		return digests{&c.explored, func([]byte, func() bool) {
			begun <- struct{}{}
			<-ctx.Done()
		}}, nil
	}
	end := c.join()
	c.await(l, 1)
	var busy sync.WaitGroup
	busy.Go(func() { explores(t, l, 1, 1) })
	<-begun
	good := recruit(t, l.URL(), 1, nil)
	good.await(l, 2)
	end()
	busy.Wait()
	if good.explored.Load() != 1 {
		t.Errorf("the other worker has explored %d parts", good.explored.Load())
	}
}

// TestServerKilled: a server that is killed and comes back costs time, whether it comes with what
// it has stored or without.
func TestServerKilled(t *testing.T) {
	for name, forgets := range map[string]bool{"": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := natsd.Start(t, dir)
			var news said
			l := mustLead(t, Options{URL: s.URL, Say: news.say})
			half := make(chan struct{})
			var parts atomic.Int64
			c := recruit(t, s.URL, 2, func([]byte, func() bool) {
				if parts.Add(1) == 10 {
					close(half)
				}
			})
			c.await(l, 2)
			var busy sync.WaitGroup
			busy.Go(func() { explores(t, l, 30, 2) })
			<-half
			s.Kill()
			if forgets {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Await(t, "the leader says so", func() bool { return news.has("server is gone") })
			s.Restart()
			busy.Wait()
			if !news.has("there again") || !c.said.has("there again") {
				t.Errorf("nobody has said that the server is there again: %q, %q", news.list, c.said.list)
			}
		})
	}
}

// TestFullDisk: a server without room says so before the search, and during it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := lead(t, Options{URL: Embedded, Limit: 1 << 20}, 100); err == nil ||
		!strings.Contains(err.Error(), "room on its disk") {
		t.Errorf("a server that may store 1 MiB: %v", err)
	}
	s := natsd.Start(t, t.TempDir())
	limit := func(bytes uint64) { // of a file that it writes
		if err := unix.Prlimit(s.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	var news said
	l := mustLead(t, Options{URL: s.URL, Say: news.say})
	c := recruit(t, s.URL, 1, nil)
	c.await(l, 1)
	explores(t, l, 3, 1)
	limit(200 << 10)
	if _, err := l.Explore(t.Context(), make([]byte, 4*maxMessage), nil); !errors.Is(err, ErrUnexplored) {
		t.Errorf("a part for which there is no room: %v", err)
	}
	if !news.has("parts cannot be given out", "the check goes on by itself") {
		t.Errorf("it was said: %q", news.list)
	}
	s.Kill()
	s.Restart() // with room
	explores(t, l, 3, 1)
	if !news.has("given out again") {
		t.Errorf("it was said: %q", news.list)
	}
}

// TestOneLeads: a second check does not lead at a server until the first has ended, or was killed.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	first := mustLead(t, Options{URL: s.URL})
	if _, err := lead(t, Options{URL: s.URL}, 1); err == nil ||
		!strings.Contains(err.Error(), "another check leads") {
		t.Fatalf("a second check: %v", err)
	}
	first.end() // it says nothing any more, and cleans nothing up
	first.busy.Wait()
	second, err := lead(t, Options{URL: s.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// TestRefusals: who cannot work at a run says why, to its user and to the leader's.
func TestRefusals(t *testing.T) {
	t.Parallel()
	same := Identity{"hash", "v1", "go1.26", "linux/amd64"}
	for want, own := range map[string]Identity{
		"another build":           {"other", "v1", "go1.26", "linux/amd64"},
		"led by tandem v1, and":   {"other", "v2", "go1.26", "linux/amd64"},
		"was built with go1.26,":  {"other", "v1", "go1.25", "linux/amd64"},
		"is led on linux/amd64, ": {"other", "v2", "go1.25", "linux/arm64"},
	} {
		if err := own.refusal(Run{Identity: same}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", own, err, want)
		}
	}
	if err := same.refusal(Run{Identity: same}); err != nil {
		t.Error(err)
	}
	var news said
	l := mustLead(t, Options{URL: Embedded, Say: news.say})
	err := Work(t.Context(), Options{URL: l.URL()}, Identity{Tandem: "other"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("a worker of another build: %v", err)
	}
	none := func(context.Context, Run, string, Ask) (Explorer, error) {
		return nil, errors.New("there is no such directory")
	}
	err = Work(t.Context(), Options{URL: l.URL()}, Identity{}, none, nil)
	if err == nil || !strings.Contains(err.Error(), "no such directory") {
		t.Errorf("a worker that cannot start: %v", err)
	}
	testkit.Await(t, "the leader says so", func() bool {
		return news.has("cannot help", "another build") && news.has("cannot help", "no such directory")
	})
}

// TestServerEnds: workers of a server that is in the leader end with it.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	l, err := lead(t, Options{URL: Embedded}, 1)
	if err != nil {
		t.Fatal(err)
	}
	// One of them explores a part that would take for ever.
	begun := make(chan struct{})
	c := recruit(t, l.URL(), 2, func(_ []byte, stop func() bool) {
		close(begun) // once
		testkit.Await(t, "the part is to end", stop)
	})
	c.await(l, 2)
	exploring, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	defer busy.Wait()
	defer stop()
	busy.Go(func() { _, _ = l.Explore(exploring, []byte("one"), nil) })
	<-begun
	l.Close()
	ended := make(chan struct{})
	go func() { c.busy.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the workers stay")
	}
	if !c.said.has("server has ended") || !c.said.has("executions in 1 parts were explored here") {
		t.Errorf("they have said %q", c.said.list)
	}
}

// TestRunComesBack: workers who find no run for a moment, as in a cluster that has lost a server,
// work at it again when it is there.
func TestRunComesBack(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	c := recruit(t, l.URL(), 2, nil)
	c.await(l, 2)
	testkit.Await(t, "the workers take the run for ended", func() bool {
		// The leader writes it again all the time.
		if err := l.state.Delete(t.Context(), runKey); err != nil {
			t.Fatal(err)
		}
		c.said.mu.Lock()
		defer c.said.mu.Unlock()
		ended := 0
		for _, line := range c.said.list {
			if strings.Contains(line, "check of p has ended") {
				ended++
			}
		}
		return ended >= 2
	})
	explores(t, l, 4, 2)
	if n := c.explored.Load(); n < 4 {
		t.Errorf("the workers have explored %d parts of 4", n)
	}
	if !c.said.has("working at the check of p again") {
		t.Errorf("they have said %q", c.said.list)
	}
}

// TestRunIsLost: a server that has lost its data does not mean that the check has ended.
func TestRunIsLost(t *testing.T) {
	t.Parallel()
	l := mustLead(t, Options{URL: Embedded})
	c := recruit(t, l.URL(), 1, nil)
	c.await(l, 1)
	testkit.Await(t, "the worker misses the run", func() bool {
		// The leader writes it again all the time.
		kept, err := l.js.Stream(t.Context(), "KV_"+stateBucket)
		if err == nil {
			err = kept.Purge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.said.has("nobody speaks of the check of p any more")
	})
	testkit.Await(t, "the worker works again", func() bool {
		return c.said.has("working at the check of p again")
	})
	if c.said.has("the check of p has ended") {
		t.Errorf("the worker has said %q", c.said.list)
	}
}

// TestServerGone: a server in a leader that was killed does not say that it ends.
func TestServerGone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		embedded bool
		away     time.Duration
		ends     bool
	}{
		"there":     {true, 0, false},
		"away":      {true, awayMost - time.Second, false},
		"gone":      {true, awayMost, true},
		"elsewhere": {false, time.Hour, false},
	} {
		w := &worker{connection: &connection{url: "nats://tandem:secret@127.0.0.1:4222"}}
		ctx, end := context.WithCancelCause(t.Context())
		w.end = end
		w.embedded.Store(c.embedded)
		if c.away > 0 {
			w.away.Store(now.Add(-c.away).UnixNano())
		}
		w.miss(now)
		cause := context.Cause(ctx)
		if (cause != nil) != c.ends || cause != nil && !errors.Is(cause, errAway) {
			t.Errorf("%s: the worker ends with %v", name, cause)
		}
		if cause != nil && strings.Contains(cause.Error(), "secret") {
			t.Errorf("%s: the error shows a password: %v", name, cause)
		}
		end(nil)
	}
}
