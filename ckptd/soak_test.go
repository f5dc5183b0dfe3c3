package ckptd

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

var deep = flag.Bool("deep", false, "run more cases, as `make deep` does")

var soak = flag.Int("soak", 60, "checkpoints, each with a restore, of TestSoak; `make soak` has 100,000")

// soaked is a dialogue in which a group is taken back and forth.
type soaked struct {
	name    string
	backend string
	share   int // of the cycles, in percent: CRIU takes ten times as long
	begin   func(testing.TB, *Client) *walker
}

var soakedOnes = []soaked{
	{"merecat by CRIU", BackendCRIU, 5, walk(dialogues[0])},
	{"redis by CRIU", BackendCRIU, 5, walk(dialogues[1])},
	{"dropbear by CRIU", BackendCRIU, 5, walkDropbear(dropbear, dropbearAddress)},
	{"merecat in memory", BackendMemory, 28, walk(dialogues[0])},
	{"redis in memory", BackendMemory, 28, walk(dialogues[1])},
	{"dropbear in memory", BackendMemory, 29, walkDropbear(inetdDropbear, sinkAddress)},
}

// TestSoak takes groups back and forth within their dialogues, at random, for long. Every
// answer must be what it was at first, and the daemon must not grow.
func TestSoak(t *testing.T) {
	for _, s := range soakedOnes {
		t.Run(s.name, func(t *testing.T) { s.run(t, max(1, *soak*s.share/100)) })
	}
}

// The daemon is measured twice as often; in the first half of the time it warms up.
const soakPoints = 10

func (s soaked) run(t *testing.T, cycles int) {
	// what is noted of images for comparisons grows with them
	c := spawnPlain(t, Options{Backend: s.backend})
	w := s.begin(t, c)
	var points []footprint // of the second half: in the first it warms up
	var samples [2][]int64 // of the memory, in each quarter of that
	for point := range 2 * soakPoints {
		// A test of its own, as what a test has made is kept until it ends.
		ok := t.Run(strconv.Itoa(point), func(t *testing.T) {
			w.talk.t = t
			for cycle := range (cycles + point) / (2 * soakPoints) {
				w.cycle(t)
				if point >= soakPoints && cycle%sampleEvery == 0 {
					quarter := &samples[2*point/soakPoints-2]
					*quarter = append(*quarter, measure(t, c).resident)
				}
			}
			w.renew(t)
			now := measure(t, c)
			if point < soakPoints {
				return
			}
			points = append(points, now)
			first := points[0]
			testkit.Await(t, fmt.Sprintf("not more than after half of the cycles, %v", first), func() bool {
				now = measure(t, c)
				// one more while a network is made ahead
				return now.descriptors <= first.descriptors+1 && now.processes <= first.processes
			})
		})
		if !ok {
			t.Fatal("no more cycles after this")
		}
	}
	third, fourth := mean(samples[0]), mean(samples[1])
	grown := 100 * (fourth/third - 1)
	t.Logf("%d cycles; at the end: %v; on average %.0f KiB resident in the third quarter of them, %.0f in "+
		"the fourth: %+.2f %%",
		cycles, points[len(points)-1], third/1024, fourth/1024, grown)
	most := 10.0 // percent, as long as it is still warming up
	if cycles > 2000 {
		most = 1
	}
	if grown > most {
		t.Errorf("the memory of the daemon has grown by more than %v %%", most)
	}
}

// sampleEvery is in how many cycles the memory is measured once. The runtime gives some of what is
// free back late, so that one sample differs from the next by 1 % or 2 %, and only their mean by
// less.
const sampleEvery = 20

func mean(samples []int64) float64 {
	sum := int64(0)
	for _, s := range samples {
		sum += s
	}
	return float64(sum) / float64(len(samples))
}

// footprint is what a daemon takes.
type footprint struct {
	descriptors, processes int
	resident, stored       int64 // bytes
}

func (f footprint) String() string {
	return fmt.Sprintf("%d descriptors, %d processes, %d KiB resident, %d KiB in the store", f.descriptors,
		f.processes, f.resident>>10, f.stored>>10)
}

func measure(t testing.TB, c *Client) footprint {
	t.Helper()
	s, err := c.Status(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return footprint{descriptors: s.Descriptors, processes: len(descendants(c.pid)), resident: s.Resident,
		stored: s.Bytes}
}

// walker goes back and forth within a dialogue.
type walker struct {
	group   *Group
	talk    *conversation
	flights []flight
	// images before each flight, and after the last; the line of each begins with it
	golden []string
	images []string    // the youngest of each line
	hurt   atomic.Bool // a process has been killed that a peer had started
	cycles int
	random *rand.Rand
}

// maxLine is after how many cycles the lines of images, each of which was taken some time
// after one of the same line was restored, begin anew: for peers that time passes.
const maxLine = 100

// cycle goes back to a place, forward to another, and takes an image there.
func (w *walker) cycle(t testing.TB) {
	t.Helper()
	if w.cycles++; w.cycles%maxLine == 0 {
		w.renew(t)
	}
	from := w.random.IntN(len(w.images))
	to := from + w.random.IntN(len(w.images)-from)
	w.goTo(t, w.images[from])
	for n, f := range w.flights[from:to] {
		if got := withoutDate(w.talk.ask(f.request)); got != f.response {
			t.Fatalf("cycle %d, from place %d: flight %d is answered by %d bytes, %.80q, and was by %d, "+
				"%.80q", w.cycles, from, from+n, len(got), got, len(f.response), f.response)
		}
	}
	image, err := w.group.Checkpoint(testContext(t))
	if err != nil {
		t.Fatalf("cycle %d, from place %d to %d: %v", w.cycles, from, to, err)
	}
	if len(image.Dropped) > 0 {
		t.Fatalf("cycle %d: to make room %v were dropped", w.cycles, image.Dropped)
	}
	w.replace(t, to, image.ID)
}

// renew begins all lines of images anew, and goes back to the first place.
func (w *walker) renew(t testing.TB) {
	t.Helper()
	for place := range w.images {
		w.replace(t, place, w.golden[place])
	}
	w.goTo(t, w.golden[0])
}

func (w *walker) goTo(t testing.TB, image string) {
	t.Helper()
	if err := w.group.Restore(testContext(t), image); err != nil {
		t.Fatalf("cycle %d: %v", w.cycles, err)
	}
	w.talk.obtain()
	if err := w.group.Quiesce(testContext(t), nil); err != nil {
		t.Fatalf("cycle %d: %v", w.cycles, err)
	}
}

// replace has a place have another image.
func (w *walker) replace(t testing.TB, place int, image string) {
	t.Helper()
	if old := w.images[place]; old != w.golden[place] && old != image {
		if err := w.group.Drop(testContext(t), old); err != nil {
			t.Fatal(err)
		}
	}
	w.images[place] = image
}

// newWalker walks in a dialogue whose images were taken before each flight and after the last.
func newWalker(talk *conversation, flights []flight, images []string) *walker {
	return &walker{group: talk.group, talk: talk, flights: flights, golden: images,
		images: slices.Clone(images), random: rand.New(rand.NewPCG(1, 2))}
}

// walk has a scripted dialogue.
func walk(d dialogue) func(testing.TB, *Client) *walker {
	return func(t testing.TB, c *Client) *walker {
		talk := connectTo(t, start(t, c, d.group(t)), d.address)
		talk.listen()
		var flights []flight
		images := []string{savedGroup(t, talk.group)}
		for _, request := range d.requests {
			flights = append(flights, flight{request, withoutDate(talk.ask(request))})
			images = append(images, savedGroup(t, talk.group))
		}
		return newWalker(talk, flights, images)
	}
}

// walkDropbear goes through a key exchange and an authentication. In memory there must be
// no second process, as that of a Dropbear that forks for its connection.
func walkDropbear(group func(testing.TB) peers.Group, address netip.AddrPort) func(testing.TB,
	*Client) *walker {
	return func(t testing.TB, c *Client) *walker {
		r := newRecorder(connectTo(t, start(t, c, group(t)), address))
		authenticate(t, r)
		r.mu.Lock()
		defer r.mu.Unlock()
		return newWalker(r.talk, r.flights[:len(r.flights)-1], r.images)
	}
}
