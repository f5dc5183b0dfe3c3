package ckptd

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/verify"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// dialogue is a scripted conversation with a peer.
type dialogue struct {
	name     string
	group    func(testing.TB) peers.Group
	address  netip.AddrPort
	requests []string
	repeated bool // answers are the same whenever the requests are given again
}

var dialogues = []dialogue{
	{"merecat", patientMerecat, merecatAddress, []string{get("/a.txt"), get("/b.txt")[:20],
		get("/b.txt")[20:]}, true},
	{"redis", func(testing.TB) peers.Group { return redis() }, redisAddress,
		[]string{"SET k 1\r\n", "MULTI\r\n", "INCR k\r\n", "EXEC\r\n", "INCR k\r\n"}, true},
	{"dropbear in the middle of a key exchange", inetdDropbear, sinkAddress, []string{"SSH-2.0-test\r\n"},
		false},
	{"everything that CRIU restores", func(testing.TB) peers.Group { return ownPeer("sink") }, sinkAddress,
		[]string{"count\n", "offset\n", "event\n", "timers\n", "pipe\n", "signal\n", "wiped\n", "write\n",
			"death\n", "count\n"}, true},
}

var redisAddress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 6379)

func redis() peers.Group {
	return peers.Group{Peers: []peers.Peer{{
		Name: "redis",
		Command: []string{"redis-server", "--port", "6379", "--bind", "127.0.0.1", "--save", "", "--hz", "1",
			"--activerehashing", "no", "--dir", "{scratch}"},
		Listen: redisAddress.String(),
	}}}
}

// inetdDropbear is a dropbear that serves one connection, as from inetd.
func inetdDropbear(t testing.TB) peers.Group {
	g := ownPeer("inetd", "/usr/sbin/dropbear", "-i", "-r", "{scratch}/hostkey")
	of := dropbear(t)
	g.Files, g.Binds = of.Files, of.Binds
	return g
}

func TestMemoryHoldsMoreThanCRIU(t *testing.T) {
	d := dialogue{"", nil, sinkAddress, []string{"event\n", "event\n"}, true}
	d.goBack(t, start(t, spawn(t, Options{Backend: BackendMemory}), ownPeer("sink with more")))
}

// TestSemaphoresGoBack: what does not belong to processes goes back with CRIU.
func TestSemaphoresGoBack(t *testing.T) {
	for _, backend := range []string{BackendCRIU, BackendAuto} {
		t.Run(backend, func(t *testing.T) {
			g := start(t, spawn(t, Options{Backend: backend}), ownPeer("sink with a semaphore"))
			dialogue{"", nil, sinkAddress, []string{"semaphore\n", "semaphore\n", "count\n"}, true}.goBack(t,
				g)
			i, err := g.Checkpoint(testContext(t))
			if err != nil || i.Backend != BackendCRIU || backend == BackendAuto &&
				!strings.Contains(i.Refusal, "System V semaphores") {
				t.Errorf("it is saved by %s: %s, %v", i.Backend, i.Refusal, err)
			}
		})
	}
}

// TestVisibleStateGoesBack takes every peer back to every place of a dialogue.
func TestVisibleStateGoesBack(t *testing.T) {
	for _, d := range dialogues {
		t.Run(d.name, func(t *testing.T) {
			bothBackends(t, func(t *testing.T, c *Client) { d.goBack(t, start(t, c, d.group(t))) })
		})
	}
}

func (d dialogue) goBack(t *testing.T, g *Group) {
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, d.address); err != nil {
		t.Fatal(err)
	}
	answers := []string{withoutDate(talk.listen())}
	var images []Image
	var states [][]string
	save := func() {
		state := visible(t, g)
		image, err := g.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Quiesce(ctx, nil); err != nil {
			t.Fatal(err)
		}
		images, states = append(images, image), append(states, state)
	}
	for _, request := range d.requests {
		save()
		answers = append(answers, withoutDate(talk.ask(request)))
	}
	save()
	for n := len(images) - 1; n >= 0; n-- {
		if err := g.Restore(ctx, images[n].ID); err != nil {
			t.Fatalf("restore of image %d: %v", n, err)
		}
		talk.obtain()
		if err := g.Quiesce(ctx, nil); err != nil {
			t.Fatal(err)
		}
		by := images[n].Backend
		for _, difference := range changes(verify.KnownTo(by, states[n]), verify.KnownTo(by, visible(t, g))) {
			t.Errorf("image %d: %s", n, difference)
		}
		for m := n; d.repeated && m < len(d.requests); m++ {
			if got := withoutDate(talk.ask(d.requests[m])); got != answers[m+1] {
				t.Errorf("from image %d on: request %q is answered by %q, and was by %q", n, d.requests[m],
					got, answers[m+1])
			}
		}
	}
}

// TestMemoryRefuses names what the memory backend does not hold; the group goes on.
func TestMemoryRefuses(t *testing.T) {
	// to compare files is to wait for the end of a lease
	c := spawnPlain(t, Options{Backend: BackendMemory})
	for role, want := range map[string]string{
		"inotify": "anon_inode:inotify", "pidfd": "[pidfd]", "raw socket": "protocol 1",
		"lease": "holds a lock of another kind", "netlink of audit": "netlink, of protocol 9",
		"half a pair": "it was shut down", "full pair": "not an end of an empty pair",
		"full pipe":     "holds 1 bytes",
		"locked memory": "is locked", "memory of its own": "is not inherited by a fork",
		"POSIX timer": "POSIX timers", "child": "has executed a program",
		"sink with a semaphore":  "the group has System V semaphores (1)",
		"System V message queue": "the group has System V message queues (1)",
		"System V shared memory": "to which no process is attached",
		"POSIX message queue":    "a POSIX message queue, letters",
		"socket filter":          "has a filter", "expired timerfd": "has expired",
		"no capabilities": "has dropped the capability",
		"chroot":          "has a root directory of its own, ",
	} {
		t.Run(role, func(t *testing.T) {
			g := start(t, c, ownPeer(role))
			_, err := g.Checkpoint(testContext(t))
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "the memory backend cannot hold") ||
				errors.Is(err, ErrGroupDown) {
				t.Errorf("%v\nwant %q", err, want)
			}
			if err := g.Quiesce(testContext(t), nil); err != nil {
				t.Errorf("the group does not go on: %v", err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLongLineOfForks goes on from restored groups again and again, so that each image is
// a fork of a fork of the one before it, beyond where memory is mapped anew.
func TestLongLineOfForks(t *testing.T) {
	// Two have threads; the heap of one that is chosen follows other memory at once.
	for _, d := range []dialogue{dialogues[0], dialogues[1], dialogues[3]} {
		t.Run(d.name, func(t *testing.T) {
			c := spawn(t, Options{Backend: BackendMemory})
			g := start(t, c, d.group(t))
			ctx := testContext(t)
			talk := &conversation{t: t, group: g, id: 1}
			talk.obtain()
			if err := g.Proxy().Connect(ctx, 1, d.address); err != nil {
				t.Fatal(err)
			}
			talk.listen()
			talk.ask(d.requests[0])
			before := visible(t, g)
			for range process.MaxGeneration {
				image, err := g.Checkpoint(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Restore(ctx, image.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Quiesce(ctx, nil); err != nil {
				t.Fatal(err)
			}
			for _, difference := range changes(before, visible(t, g)) {
				t.Error(difference)
			}
			talk.obtain()
			if got := talk.ask(d.requests[1]) + talk.ask(d.requests[2]); got == "" {
				t.Error("there is no answer any more")
			}
		})
	}
}

// TestAutoFallsBack has a peer start dropbear for its connection: from then on CRIU saves it. The
// image of before stays what it was, and good for any number of restores in between.
func TestAutoFallsBack(t *testing.T) {
	c := spawn(t, Options{Backend: BackendAuto})
	group, of := ownProgram(t, "inetd", "/usr/sbin/dropbear", "-i", "-r", "{scratch}/hostkey"), dropbear(t)
	group.Files, group.Binds = append(group.Files, of.Files...), of.Binds
	g := start(t, c, group)
	ctx := testContext(t)
	before := visible(t, g)
	first, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first.Backend != BackendMemory || first.Refusal != "" {
		t.Errorf("the first image is by %s: %s", first.Backend, first.Refusal)
	}
	talk := &conversation{t: t, group: g, id: 1}
	connect := func() {
		talk.obtain()
		if err := g.Proxy().Connect(ctx, 1, ownAddress); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Restore(ctx, first.ID); err != nil { // which turns back its clock
		t.Fatal(err)
	}
	connect()
	greeting := talk.listen()
	var images []Image
	for range 2 {
		i, err := g.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if i.Backend != BackendCRIU || !strings.Contains(i.Refusal, "has executed a program") {
			t.Errorf("an image of two processes is by %s: %s", i.Backend, i.Refusal)
		}
		images = append(images, i)
	}
	for _, id := range []string{images[0].ID, first.ID, images[1].ID, images[0].ID, first.ID, first.ID} {
		if err := g.Restore(ctx, id); err != nil {
			t.Fatalf("restore of %s: %v", id, err)
		}
		if id == first.ID {
			if err := g.Quiesce(ctx, nil); err != nil {
				t.Fatal(err)
			}
			for _, difference := range changes(before, visible(t, g)) {
				t.Error(difference)
			}
			connect()
			if got := talk.listen(); got[:20] != greeting[:20] { // then come random bytes
				t.Errorf("after a restore in memory dropbear says %.20q, not %.20q", got, greeting)
			}
			continue
		}
		talk.obtain()
		if got := talk.listen(); got != "" {
			t.Errorf("after a restore by CRIU dropbear says %q", got)
		}
		if got := talk.ask("SSH-2.0-test\r\n"); talk.ended {
			t.Errorf("after a restore by CRIU dropbear ends the connection: %q", got)
		}
	}
	if i, err := g.Checkpoint(ctx); err != nil || i.Backend != BackendCRIU {
		t.Errorf("a group once refused is saved by %s, %v", i.Backend, err)
	}
}

// TestCopiesAreKilled: an image in memory that was killed is gone, and nothing else is.
func TestCopiesAreKilled(t *testing.T) {
	l := watchLeftovers(t)
	c := spawn(t, Options{Backend: BackendMemory})
	g := start(t, c, merecat())
	ctx := testContext(t)
	var images []Image
	live := find("merecat -n")
	for range 2 {
		i, err := g.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, i)
	}
	copies := slices.DeleteFunc(find("merecat -n"), func(pid int) bool { return slices.Contains(live, pid) })
	if len(copies) != 2 {
		t.Fatalf("there are %d copies of 2 images", len(copies))
	}
	for _, pid := range copies {
		if n, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err != nil || len(n) > 0 {
			t.Errorf("a copy has %d open files, %v", len(n), err)
		}
	}
	slices.Sort(copies) // the first one belongs to the first image
	kill(t, copies[0])
	testkit.Await(t, "the copy is gone", func() bool { return stateOf(copies[0]) == "" })
	if err := g.Restore(ctx, images[0].ID); !errors.Is(err, ErrImageGone) {
		t.Errorf("restore of an image that was killed: %v", err)
	}
	if err := g.Quiesce(ctx, nil); err != nil {
		t.Errorf("the group does not go on: %v", err)
	}
	if err := g.Restore(ctx, images[1].ID); err != nil {
		t.Errorf("restore of the other image: %v", err)
	}
	pid := g.PID()
	kill(t, pid)
	testkit.Await(t, "the proxy is dead", func() bool { return stateOf(pid) == "" })
	if err := g.Restore(ctx, images[1].ID); !errors.Is(err, ErrImageGone) {
		t.Errorf("restore of an image that ended with the proxy: %v", err)
	}
	l.note(t)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if left := len(l.note(t)); left != 1 {
		t.Errorf("%d processes run beside the daemon when the group has ended", left-1)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.check(t)
}

// TestBudgetOfBytesInMemory: images in memory make room for others when together they hold
// more than they may, and what is left of them is counted anew.
func TestBudgetOfBytesInMemory(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory, MaxBytes: 16 << 20})
	g := start(t, c, ownPeer("sink"))
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, sinkAddress); err != nil {
		t.Fatal(err)
	}
	var images []Image
	dropped := 0
	for n := range 30 {
		for range 16 { // a megabyte of the heap
			talk.ask("count\n")
		}
		image, err := g.Checkpoint(ctx)
		if err != nil {
			t.Fatalf("image %d: %v", n, err)
		}
		images = append(images, image)
		dropped += len(image.Dropped)
	}
	if dropped == 0 || dropped >= len(images)-2 {
		t.Errorf("of %d images %d were dropped", len(images), dropped)
	}
	for _, i := range []Image{images[0], images[len(images)-1]} {
		if err := g.Restore(ctx, i.ID); err != nil {
			t.Error(err)
		}
	}
	if err := g.Restore(ctx, images[1].ID); !errors.Is(err, ErrImageGone) {
		t.Errorf("restore of the image that was to be dropped first: %v", err)
	}
}
