package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/apart"
	"github.com/tandem-mc/tandem/protocol/session"
)

// post brings messages from one goroutine to another, as a server does for processes. Everything
// is kept, so who becomes a part gets all that was ever sent to it. Some messages come twice.
type post struct {
	mu      sync.Mutex
	come    *sync.Cond
	log     []posted
	random  *rand.Rand
	twice   int // of ten messages
	kills   int // so many processes are lost still
	lost    int // so many were
	started int // so many have become parts
	isOver  bool
	model   *Model // of the parts
	times   int    // that each process checks it
	options Options
	session apart.Session
	busy    sync.WaitGroup
	results []*Result
}

// posted is a message with its receiver.
type posted struct {
	to   int
	data []byte
}

// errLost is of a process that was killed, and of those that are ended.
var errLost = errors.New("the process is lost")

// box is the place of one process at the post.
type box struct {
	*post
	own    int
	at     int
	left   int // messages until it is lost; negative: it is not
	isGone bool
	number uint64
}

func (b *box) Send(to int, message []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isGone || b.isOver {
		return errLost
	}
	if b.left--; b.left == 0 {
		b.isGone = true
		b.lost++
		data, err := session.Gone(session.Ended{Part: b.own, Process: b.number, Reason: "killed"})
		b.put(apart.Front, data)
		return errors.Join(errLost, err)
	}
	b.put(to, message)
	return nil
}

// put keeps a message, perhaps twice.
func (p *post) put(to int, message []byte) {
	p.log = append(p.log, posted{to, message})
	if p.random.IntN(10) < p.twice {
		p.log = append(p.log, posted{to, message})
	}
	p.come.Broadcast()
}

func (b *box) Receive() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for ; b.at < len(b.log); b.at++ {
			if to := b.log[b.at].to; to == b.own || to < apart.Front && b.own >= 0 {
				b.at++
				return b.log[b.at-1].data, nil
			}
		}
		if b.isGone || b.isOver {
			return nil, errLost
		}
		b.come.Wait()
	}
}

func (b *box) Start(part int, process uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started++
	x := &box{post: b.post, own: part, left: -1, number: process}
	if b.kills > 0 {
		b.kills--
		x.left = 1 + b.random.IntN(12)
	}
	b.busy.Go(func() {
		o := b.options
		o.session = &apart.Session{Transport: x, Own: part, Process: process, Parts: b.session.Parts,
			Partition: b.session.Partition, Batch: b.session.Batch}
		r, err := checkTimes(b.model, o, b.times)
		b.mu.Lock()
		defer b.mu.Unlock()
		if err == nil {
			b.results = append(b.results, r)
		}
	})
	return nil
}

// Forget forgets all but what is to stay.
func (b *box) Forget() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.log {
		// News of processes are not kept at the server, and so not forgotten either.
		if b.log[i].to != apart.Ends && b.log[i].data[0] != session.KindGone {
			b.log[i].to = nobody
		}
	}
	return nil
}

// nobody is the receiver of what is forgotten.
const nobody = 1 << 20

// checkTimes checks a model so many times, as a test with several models does.
func checkTimes(m *Model, o Options, times int) (r *Result, err error) {
	for range times {
		if r, err = Check(m, o); err != nil {
			break
		}
	}
	return r, err
}

// checkTogether has several parts check a model, of which some are lost on the way.
func checkTogether(m *Model, o Options, parts int, function string, kills int, seed uint64) (*Result,
	error) {
	return checkAs(m, m, o, parts, function, kills, seed)
}

// checkAs has the parts check one model, and the process that leads another one.
func checkAs(m, lead *Model, o Options, parts int, function string, kills int, seed uint64) (*Result,
	error) {
	partition, err := apart.Parse(function)
	if err != nil {
		return nil, err
	}
	p := &post{random: rand.New(rand.NewPCG(seed, 1)), twice: int(seed % 4), kills: kills, model: m,
		times: 1 + int(seed/4%3), options: o,
		session: apart.Session{Parts: parts, Partition: partition, Batch: 1 + int(seed%100)}}
	p.come = sync.NewCond(&p.mu)
	front := &box{post: p, own: apart.Front, left: -1}
	o.session = &apart.Session{Transport: front, IsFront: true, Parts: parts, Partition: partition}
	r, err := checkTimes(lead, o, p.times)
	p.mu.Lock()
	p.isOver = true
	p.come.Broadcast()
	p.mu.Unlock()
	p.busy.Wait()
	// A part is the same process in all searches, unless that is lost.
	if p.started > parts+p.lost {
		return nil, fmt.Errorf("%d processes have become %d parts, and %d were lost", p.started, parts,
			p.lost)
	}
	// Each part returns what the front does.
	for _, other := range p.results {
		if err == nil && other.String() != r.String() {
			return nil, fmt.Errorf("a part returns %v, and the front %v", other, r)
		}
	}
	return r, err
}

// functions are those that divide states in tests.
var functions = []string{"hash", "part", "part=0"}

// TestApartTwin: several parts have the result of a search by one: all counts, and a run as short.
// The run is the same whatever divides the search, and however many processes are lost.
func TestApartTwin(t *testing.T) {
	sent := 0
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		m.Properties = m.Properties[rapid.IntRange(0, len(m.Properties)).Draw(t, "properties"):]
		o := Options{Workers: 1, Depth: max(0, rapid.IntRange(-3, 5).Draw(t, "depth"))}
		want, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		run := ""
		for _, parts := range []int{1, rapid.IntRange(2, 5).Draw(t, "parts")} {
			function := rapid.SampledFrom(functions).Draw(t, "function")
			got, err := checkTogether(m, o, parts, function, rapid.IntRange(0, 4).Draw(t, "kills"),
				rapid.Uint64().Draw(t, "seed"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Shares, " 0 states were sent") {
				sent++
			}
			compareApart(t, want, got)
			if got.Violation == nil {
				continue
			}
			if run != "" && run != got.Violation.Run {
				t.Fatalf("%d parts show the run %s, and one shows %s", parts, got.Violation.Run, run)
			}
			run = got.Violation.Run
		}
	})
	t.Logf("%d searches had states sent", sent)
}

// compareApart compares all of two results but for the run.
func compareApart(t *rapid.T, want, got *Result) {
	t.Helper()
	if want.Violation == nil {
		ignored := append(ignored, cmp.FilterPath(func(p cmp.Path) bool {
			return p.String() == "Shares"
		}, cmp.Ignore()))
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Fatal(diff)
		}
		return
	}
	if got.Violation == nil || got.Violation.Steps != want.Violation.Steps || got.Depth != want.Depth {
		t.Fatalf("%v, want %v", got, want)
	}
}

// TestApartRefused: processes that check different models are told of, and so are searches that
// cannot be divided, and nodes that are not there.
func TestApartRefused(t *testing.T) {
	for want, check := range map[string]func() (*Result, error){
		"another model": func() (*Result, error) {
			return checkAs(stairs(2), stairs(3), Options{}, 2, "hash", 0, 0)
		},
		"leave out Search": func() (*Result, error) {
			return checkTogether(stairs(2), Options{Search: DepthFirst}, 2, "hash", 0, 0)
		},
		"the last one is 1": func() (*Result, error) {
			return checkTogether(stairs(2), Options{}, 2, "part=2", 0, 0)
		},
	} {
		if r, err := check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want %q", r, err, want)
		}
	}
}

// TestApartBound: a bound that is met while the nodes that change least are looked for is not an
// error: the search ends after a level, and says why.
func TestApartBound(t *testing.T) {
	for _, function := range functions {
		r, err := checkTogether(stairs(3), Options{States: 500}, 2, function, 0, 0)
		if err != nil || r.Verdict != Unknown || r.States < 500 || r.States > 1000 {
			t.Errorf("%s: %v, error %v", function, r, err)
		}
	}
}
