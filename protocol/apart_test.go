package protocol

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/apart"
	"github.com/tandem-mc/tandem/protocol/internal/global"
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
	check   func(*Model, Options) (*Result, error)
	options Options
	parts   int
	split   apart.Partition
	batch   int
	always  bool // have checkpoints
	boxes   []*box
	busy    sync.WaitGroup
	results []*Result
	fault   error // of a process that was not to end
	objects map[string][]byte
	damages int // so many objects are damaged still
	fronts  int // so many processes that lead are lost still
	fetched int // so many processes have begun with a checkpoint
	told    []session.Progress
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
	if err := b.live(); err != nil {
		return err
	}
	b.put(to, message)
	return nil
}

// live is an error if the process is lost, or is lost now. The caller holds mu.
func (b *box) live() error {
	if b.isGone || b.isOver {
		return errLost
	}
	if b.left--; b.left != 0 {
		return nil
	}
	b.isGone = true
	if b.own == apart.Front {
		return errLost
	}
	b.lost++
	data, err := session.Gone(session.Ended{Part: b.own, Process: b.number, Reason: "killed"})
	b.put(apart.Front, data)
	return errors.Join(errLost, err)
}

func (b *box) Put(name string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.live(); err != nil {
		return err
	}
	b.objects[name] = slices.Clone(data)
	return nil
}

func (b *box) Get(name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.live(); err != nil {
		return nil, err
	}
	data, ok := b.objects[name]
	if !ok {
		return nil, apart.ErrLost
	}
	// Only the last checkpoint has this head, so the one before is whole.
	if strings.Contains(name, ".head.") {
		b.fetched++
		if b.damages > 0 {
			b.damages--
			if data[b.random.IntN(len(data))]++; b.random.IntN(2) == 0 {
				delete(b.objects, name)
			}
		}
	}
	return slices.Clone(data), nil
}

// Keep removes what is not needed at once, as long as the process is not lost meanwhile.
func (b *box) Keep(k session.Kept) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.log {
		place, to := uint64(i+1), b.log[i].to
		isPart := to >= 0 && to < len(k.Parts)
		if to == apart.Levels && place < k.Levels || isPart && place < k.Parts[to].Place {
			b.log[i].to = nobody
		}
		if i%8 == 7 {
			if err := b.live(); err != nil {
				return err
			}
		}
	}
	for name := range b.objects {
		if !k.Has(name) {
			delete(b.objects, name)
		}
	}
	return b.live()
}

// put keeps a message, perhaps twice.
func (p *post) put(to int, message []byte) {
	p.log = append(p.log, posted{to, message})
	if p.random.IntN(10) < p.twice {
		p.log = append(p.log, posted{to, message})
	}
	p.come.Broadcast()
}

func (b *box) Receive() (message []byte, place uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for ; b.at < len(b.log); b.at++ {
			if to := b.log[b.at].to; to == b.own || to < apart.Front && b.own >= 0 {
				b.at++
				return b.log[b.at-1].data, uint64(b.at), nil
			}
		}
		if b.isGone || b.isOver {
			return nil, 0, errLost
		}
		b.come.Wait()
	}
}

func (b *box) Start(part int, process uint64, saved []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.live(); err != nil {
		return err
	}
	b.started++
	x := &box{post: b.post, own: part, left: -1, number: process}
	if b.kills > 0 {
		b.kills--
		x.left = 1 + b.random.IntN(12)
	}
	b.end(part)
	b.boxes = append(b.boxes, x)
	b.busy.Go(func() {
		o := b.options
		o.session = b.newSession(x)
		o.session.Own, o.session.Process, o.session.Saved, o.session.IsOther = part, process, saved, true
		r, err := b.check(b.model, o)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case err == nil:
			b.results = append(b.results, r)
		case !x.isGone && !b.isOver: // nobody has ended it
			b.fault = errors.Join(b.fault, fmt.Errorf("part %d has ended by itself: %w", part, err))
			b.isOver = true
			b.come.Broadcast()
		}
	})
	return nil
}

// end ends the processes that are a part. The caller holds mu.
func (p *post) end(part int) {
	for _, x := range p.boxes {
		if x.own == part {
			x.isGone = true
		}
	}
	p.come.Broadcast()
}

// newSession is for a process that begins now.
func (p *post) newSession(x *box) *apart.Session {
	s := &apart.Session{Transport: x, Parts: p.parts, Partition: p.split, Batch: p.batch, Always: p.always}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.log {
		switch m.to {
		case apart.Levels:
			s.Last = m.data
		case apart.Ends:
			s.Ends = append(s.Ends, m.data)
		}
	}
	return s
}

// Forget forgets all but what is to stay.
func (b *box) Forget() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.live(); err != nil {
		return err
	}
	clear(b.objects)
	for i := range b.log {
		// News of processes are not kept at the server, and so not forgotten either.
		if b.log[i].to != apart.Ends && b.log[i].data[0] != session.KindGone {
			b.log[i].to = nobody
		}
	}
	return nil
}

// Tell notes how far the search is. It only grows, also where another front goes on.
func (b *box) Tell(p session.Progress) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, p)
	return b.live()
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

// chance says what happens to the processes that check a model together.
type chance struct {
	seed uint64
	// kills, fronts and damages are how many parts and processes that lead are lost, and how many
	// checkpoints are damaged.
	kills, fronts, damages int
	checkpoints            bool // there are some, at each level
	// check is what each process does; nil: it checks the model, up to three times.
	check func(*Model, Options) (*Result, error)
}

// checkTogether has several parts check a model, of which some are lost on the way.
func checkTogether(m *Model, o Options, parts int, function string, c chance) (*Result, error) {
	r, _, err := checkAs(m, m, o, parts, function, c)
	return r, err
}

// checkAs has the parts check one model, and the process that leads another one.
func checkAs(m, lead *Model, o Options, parts int, function string, c chance) (*Result, *post, error) {
	partition, err := apart.Parse(function)
	if err != nil {
		return nil, nil, err
	}
	p := &post{random: rand.New(rand.NewPCG(c.seed, 1)), twice: int(c.seed % 4), kills: c.kills,
		fronts: c.fronts, damages: c.damages, model: m, check: c.check, options: o, parts: parts,
		split: partition, batch: 1 + int(c.seed%100), always: c.checkpoints, objects: map[string][]byte{}}
	if c.check == nil {
		p.check = func(m *Model, o Options) (*Result, error) { return checkTimes(m, o, 1+int(c.seed/4%3)) }
	}
	p.come = sync.NewCond(&p.mu)
	r, err := p.lead(lead, o)
	p.mu.Lock()
	p.isOver = true
	p.come.Broadcast()
	p.mu.Unlock()
	p.busy.Wait()
	if p.fault != nil {
		return nil, nil, p.fault
	}
	// A part is the same process in all searches, unless that is lost.
	// What is damaged may be found out by each process that leads.
	fronts, damages := 1+c.fronts-p.fronts, c.damages-p.damages
	if p.started > parts*fronts+p.lost+damages*fronts {
		return nil, nil, fmt.Errorf("%d processes have become %d parts; %d were lost, and %d that lead; %d "+
			"checkpoints were damaged", p.started, parts, p.lost, fronts-1, damages)
	}
	// Each part returns what the front does.
	for _, other := range p.results {
		if err == nil && other.String() != r.String() {
			return nil, nil, fmt.Errorf("a part returns %v, and the front %v", other, r)
		}
	}
	// Whoever asks how far it is has been told the last count, too.
	if err == nil && r.Violation == nil && len(p.told) > 0 {
		last := session.Progress{States: r.States, Transitions: r.Transitions, Depth: r.Depth}
		if told := p.told[len(p.told)-1]; told != last {
			return nil, nil, fmt.Errorf("%+v was told at last, and the result is %+v", told, last)
		}
	}
	return r, p, err
}

// lead has a process lead, and other ones go on as often as it is lost.
func (p *post) lead(m *Model, o Options) (*Result, error) {
	for {
		x := &box{post: p, own: apart.Front, left: -1}
		o.session = p.newSession(x)
		o.session.IsFront = true
		o.Memory = 0 // it has no states: the bound is that of the parts
		if p.fronts > 0 {
			p.fronts--
			x.left = 1 + p.random.IntN(20)
		}
		r, err := p.check(m, o)
		p.mu.Lock()
		isOver := p.isOver
		p.mu.Unlock()
		if isOver || !errors.Is(err, errLost) {
			return r, err
		}
		// Its parts end, too, and others begin.
		p.mu.Lock()
		for part := range p.parts {
			p.end(part)
		}
		p.mu.Unlock()
	}
}

// underWay is an estimate that any protocol has.
var underWay = NewEstimate(func(id ID, _ Node) ID { return id },
	func(_ []ID, messages []Message) int { return len(messages) })

// functions are those that divide states in tests.
var functions = []string{"hash", "part", "part=0"}

// TestApartTwin: several parts have the result of a search by one: all counts, and a run as short.
// The run is the same whatever divides the search, and however many processes are lost.
func TestApartTwin(t *testing.T) {
	sent, fetched, spilled := 0, 0, 0
	dir := t.TempDir()
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
			if rapid.IntRange(0, 4).Draw(t, "estimate") == 0 {
				function, o.Estimate = "estimate", underWay
			}
			if o.External = ""; rapid.Bool().Draw(t, "external") {
				o.External, o.onDisk = dir, drawSizes(t)
			}
			got, p, err := checkAs(m, m, o, parts, function, chance{
				seed: rapid.Uint64().Draw(t, "seed"), kills: rapid.IntRange(0, 4).Draw(t, "kills"),
				fronts:      rapid.IntRange(0, 2).Draw(t, "fronts"),
				damages:     rapid.IntRange(0, 1).Draw(t, "damages"),
				checkpoints: rapid.Bool().Draw(t, "checkpoints")})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Shares, " 0 states were sent") {
				sent++
			}
			fetched += p.fetched
			if got.Disk > 0 {
				spilled++
			}
			compareApart(t, want, got)
			if got.Violation == nil && len(p.told) == 0 {
				t.Fatal("nothing was told of how far the search is")
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
				t.Fatalf("files %v are left, error %v", list, err)
			}
			if got.Violation == nil {
				continue
			}
			if run != "" && run != got.Violation.Run {
				t.Fatalf("%d parts show the run %s, and one shows %s", parts, got.Violation.Run, run)
			}
			run = got.Violation.Run
		}
	})
	t.Logf("%d searches had states sent, %d had files; %d processes began with a checkpoint", sent, spilled,
		fetched)
	if fetched == 0 || spilled < *protocols/10 {
		t.Error("no process has begun with a checkpoint, or few had files")
	}
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
	alike := stairs(7) // in 5,040 orders
	alike.Alike = [][]ID{{0, 1, 2, 3, 4, 5, 6}}
	for want, check := range map[string]func() (*Result, error){
		"another model": func() (*Result, error) {
			r, _, err := checkAs(stairs(2), stairs(3), Options{}, 2, "hash", chance{})
			return r, err
		},
		"leave out Search": func() (*Result, error) {
			return checkTogether(stairs(2), Options{Search: DepthFirst}, 2, "hash", chance{})
		},
		"leave out Resume": func() (*Result, error) {
			return checkTogether(stairs(2), Options{Resume: "file"}, 2, "hash", chance{})
		},
		"at most 720 orders of alike nodes": func() (*Result, error) {
			return checkTogether(alike, Options{}, 2, "hash", chance{})
		},
		"needs Options.Estimate": func() (*Result, error) {
			return checkTogether(stairs(2), Options{}, 2, "estimate", chance{})
		},
		"the last one is 1": func() (*Result, error) {
			return checkTogether(stairs(2), Options{}, 2, "part=2", chance{})
		},
	} {
		if r, err := check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want %q", r, err, want)
		}
	}
}

// TestApartFull: the disk of a part is full at each write in turn. That ends the search with an
// error that says where to make room, and no files are left.
func TestApartFull(t *testing.T) {
	dir := t.TempDir()
	m := stairs(3)
	want, err := Check(m, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for n := int64(1); ; n += 1 + n/2 {
		var writes atomic.Int64
		o := Options{Workers: 1, External: dir}
		o.onDisk = func(d *global.Disk) {
			tiny(d)
			d.Write = func(file *os.File, data []byte) (int, error) {
				if writes.Add(1) == n {
					part, _ := file.Write(data[:len(data)/2])
					return part, syscall.ENOSPC
				}
				return file.Write(data)
			}
		}
		got, err := checkTogether(m, o, 2, "hash", chance{seed: uint64(n) * 4, checkpoints: n%2 == 0})
		list, fault := os.ReadDir(dir)
		if fault != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, fault)
		}
		if writes.Load() < n {
			if err != nil || got.States != want.States || got.Transitions != want.Transitions {
				t.Fatalf("%v, want %v, error %v", got, want, err)
			}
			break
		}
		failures++
		if err == nil || !strings.Contains(err.Error(), "make room in "+dir) ||
			!strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			t.Fatalf("write %d failed: %v, error %v", n, got, err)
		}
	}
	if failures < 8 {
		t.Errorf("only %d writes failed", failures)
	}
}

// TestApartBound: a bound that is met while the nodes that change least are looked for is not an
// error: the search ends after a level, and says why.
func TestApartBound(t *testing.T) {
	for _, function := range functions {
		r, err := checkTogether(stairs(3), Options{States: 500}, 2, function, chance{})
		if err != nil || r.Verdict != Unknown || r.States < 500 || r.States > 1000 {
			t.Errorf("%s: %v, error %v", function, r, err)
		}
		// The memory of each process is bounded, and that is never enough here.
		r, err = checkTogether(stairs(3), Options{Memory: 1}, 2, function, chance{})
		if err != nil || r.Verdict != Unknown || !strings.Contains(r.Reason, "more parts, on more workers") {
			t.Errorf("%s: %v, error %v", function, r, err)
		}
	}
}

// TestApartAlike: several parts visit one state of each orbit, as one process does, and have its
// counts, verdict and length of a run. Which names a state has depends on the process.
func TestApartAlike(t *testing.T) {
	if err := flag.Set("rapid.checks", strconv.Itoa(*protocols/4)); err != nil {
		t.Fatal(err)
	}
	sent, violated, dir := 0, 0, t.TempDir()
	check := func(t *rapid.T) {
		h := drawHerd(t)
		m := h.model()
		if _, _, ok := h.orbits(t, m, 1000); !ok {
			return
		}
		from := rapid.IntRange(0, len(m.Properties)).Draw(t, "from")
		m.Properties = m.Properties[from:rapid.IntRange(from, len(m.Properties)).Draw(t, "to")]
		o := Options{Workers: 1}
		want, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "external") {
			o.External, o.onDisk = dir, drawSizes(t)
		}
		run := ""
		for _, parts := range []int{1, rapid.IntRange(2, 4).Draw(t, "parts")} {
			function := rapid.SampledFrom(functions).Draw(t, "function")
			got, err := checkTogether(m, o, parts, function, chance{seed: rapid.Uint64().Draw(t, "seed"),
				kills:       rapid.IntRange(0, 3).Draw(t, "kills"),
				fronts:      rapid.IntRange(0, 1).Draw(t, "fronts"),
				checkpoints: rapid.Bool().Draw(t, "checkpoints")})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Shares, " 0 states were sent") {
				sent++
			}
			// Which local states there are depends on the names that were chosen.
			got.Locals, got.Messages, got.Handlers = want.Locals, want.Messages, want.Handlers
			compareApart(t, want, got)
			if got.Violation == nil {
				continue
			}
			violated++
			if run != "" && run != got.Violation.Run {
				t.Fatalf("%d parts show the run %s, and one shows %s", parts, got.Violation.Run, run)
			}
			run = got.Violation.Run
		}
	}
	untilSeen(func() { rapid.Check(t, check) }, func() bool { return sent > 0 && violated > 0 })
	t.Logf("%d searches had states sent, %d met a violation", sent, violated)
	if sent == 0 || violated == 0 {
		t.Error("no search had states sent, or none met a violation")
	}
}
