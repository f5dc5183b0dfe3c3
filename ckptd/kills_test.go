package ckptd

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

var kills = flag.Int("kills", 4, "processes that TestKillsAtRandom kills; `make kills` has 1,000")

// TestKillsAtRandom kills daemons, proxies, peers, copies of peers, CRIU and checkers at
// random moments. What was acknowledged is whole or gone, and nothing is left behind.
func TestKillsAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the moments are random all the same
	killed := map[string]int{}
	total := func() (n int) {
		for _, k := range killed {
			n += k
		}
		return n
	}
	for round := 0; total() < *kills; round++ {
		l := watchLeftovers(t)
		if round%8 == 7 {
			killChecker(t, l, random)
			killed["checker"]++
		} else {
			backend := []string{BackendCRIU, BackendMemory, BackendAuto}[round%3]
			killAround(t, l, random, backend, dialogues[random.IntN(2)], killed)
		}
		if l.check(t); t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d were killed: %v", total(), killed)
}

// killChecker kills a checker that is busy.
func killChecker(t *testing.T, l *leftovers, random *rand.Rand) {
	pid, wait := startChecker(t, "busy")
	testkit.Await(t, "the checker has its group", func() bool { return len(find("merecat -n")) > 0 })
	// to kill at another moment, not to wait for anything
	time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
	tree := l.note(t)
	kill(t, pid)
	wait()
	testkit.Await(t, "everything below the checker is gone", func() bool { return !anyAlive(tree) })
}

// killAround has a client take a group back and forth, while processes around it are
// killed, in the end perhaps the daemon.
func killAround(t *testing.T, l *leftovers, random *rand.Rand, backend string, d dialogue,
	killed map[string]int) {
	const most = 4 // but for the daemon
	c := spawn(t, Options{Backend: backend})
	defer c.Close()
	w := walk(d)(t, c)
	defer func() { unix.Close(w.talk.fd) }()
	l.note(t)
	for range 1 + random.IntN(most) {
		victim := disturb(t, w, random, c.pid)
		if victim == "" {
			continue
		}
		killed[victim]++
		l.note(t)
		w.wholeOrGone(t, victim)
		if t.Failed() || len(w.images) == 0 {
			break // all were copies that ended with their proxy
		}
	}
	if random.IntN(2) == 0 {
		go func() {
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			unix.Kill(c.pid, unix.SIGKILL)
		}()
		for c.Err() == nil {
			if err := w.tryCycle(random); err != nil && !isDeath(err) && !errors.Is(err, errNoImages) {
				t.Errorf("as the daemon is killed: %v", err)
			}
		}
		killed["daemon"]++
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// disturb kills a process below the daemon while the group is taken back and forth, and
// tells what it was.
func disturb(t *testing.T, w *walker, random *rand.Rand, daemon int) (victim string) {
	t.Helper()
	var struck atomic.Bool
	done := make(chan struct{})
	delay, choice := time.Duration(random.IntN(40))*time.Millisecond, random.IntN(1000)
	go func() {
		defer close(done)
		time.Sleep(delay) // to kill at another moment, not to wait for anything
		struck.Store(true)
		kinds := map[string][]int{}
		for _, pid := range descendants(daemon) {
			kind := kindOf(pid, daemon)
			kinds[kind] = append(kinds[kind], pid)
		}
		if names := slices.Sorted(maps.Keys(kinds)); len(names) > 0 {
			victim = names[choice%len(names)]
			w.hurt.Store(victim == childOfPeer)
			if unix.Kill(kinds[victim][choice%len(kinds[victim])], unix.SIGKILL) != nil {
				victim = ""
				w.hurt.Store(false)
			}
		}
	}()
	for disturbed := false; !disturbed; {
		select {
		case <-done:
			disturbed = true // once more after it
		default:
		}
		early := !struck.Load()
		err := w.tryCycle(random)
		if err != nil && !w.hurt.Load() && (!isDeath(err) || early && !struck.Load()) {
			t.Errorf("before or after a process was killed: %v", err)
			<-done
			return victim
		}
	}
	return victim
}

// childOfPeer is a process that a peer has started. If it is killed, the peer is told, and may
// answer otherwise, or be refused a checkpoint: nobody else has to notice, until the group is
// restored.
const childOfPeer = "child of a peer"

func kindOf(pid, daemon int) string {
	kind := func(pid int) string {
		for _, kind := range []string{"criu", "tandem-proxy"} {
			if strings.Contains(commandLine(pid), kind) {
				return kind
			}
		}
		return "peer or copy"
	}
	if fields := statOf(pid); fields != nil {
		parent, _ := strconv.Atoi(fields[1])
		if parent != daemon && kind(parent) == "peer or copy" {
			return childOfPeer
		}
	}
	return kind(pid)
}

// isDeath tells whether an error is one that a death may be the cause of.
func isDeath(err error) bool {
	var died *watch.Died
	noCopy := errors.Is(err, ErrNotStored) && strings.Contains(err.Error(), "was killed while it was made")
	return noCopy || errors.As(err, &died) || errors.Is(err, ErrGroupDown) ||
		errors.Is(err, ErrImageGone) || errors.Is(err, ErrDaemonDied) || errors.Is(err, proxy.ErrDied)
}

var errNoImages = errors.New("there are no images")

// tryCycle goes back to a place and forward to the end. An answer without an error must
// be the right one.
func (w *walker) tryCycle(random *rand.Rand) error {
	if len(w.images) == 0 {
		return errNoImages
	}
	return w.tryFrom(random.IntN(len(w.images)))
}

func (w *walker) tryFrom(place int) error {
	ctx := testContext(w.talk.t)
	if err := w.group.Restore(ctx, w.images[place]); err != nil {
		return err
	}
	if err := w.tryObtain(); err != nil {
		return err
	}
	for _, f := range w.flights[place:] {
		got, err := w.talk.tryAsk(f.request)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			err = errors.Join(err, w.whoDied(ctx))
		}
		if err != nil {
			return err
		}
		if withoutDate(got) != f.response {
			if err := w.group.Check(); err != nil || w.hurt.Load() {
				return err
			}
			w.talk.t.Errorf("from place %d: %.80q, not %.80q", place, got, f.response)
		}
	}
	_, err := w.group.Checkpoint(ctx)
	return err
}

// whoDied waits for who has closed a connection to be dead: its files go first. Nil: nobody died.
func (w *walker) whoDied(ctx context.Context) error {
	b := make([]byte, 4<<10)
	return w.group.Quiesce(ctx, func() (progress bool, err error) {
		n, _ := unix.Read(w.talk.fd, b)
		return n > 0, nil
	})
}

func (w *walker) tryObtain() error {
	if w.talk.fd > 0 {
		unix.Close(w.talk.fd)
		w.talk.fd = 0
	}
	fd, err := w.group.Proxy().CreateSocket(testContext(w.talk.t), w.talk.id)
	if err == nil {
		w.talk.fd, w.talk.ended = fd, false
	}
	return err
}

// wholeOrGone goes through all images that were acknowledged, after a process was killed.
func (w *walker) wholeOrGone(t *testing.T, victim string) {
	t.Helper()
	w.hurt.Store(false) // what runs is restored first
	for place := len(w.images) - 1; place >= 0; place-- {
		switch err := w.tryFrom(place); {
		case errors.Is(err, ErrImageGone):
			// Those of other places may be there still: they are gone only for this walk.
			w.images, w.flights = w.images[:place], w.flights[:min(place, len(w.flights))]
		case err != nil:
			t.Errorf("after a %s was killed: image of place %d: %v", victim, place, err)
		}
	}
}
