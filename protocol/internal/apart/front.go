package apart

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/session"
)

// Totals are what all parts have done.
type Totals struct {
	States      int
	Transitions int64
	Depth       int
	Reached     uint64
	Bytes       int64
	// Frontier are states at the bound on the depth, which nobody expands.
	Frontier int
	// ByPart are the states of each part, Most the bytes of the part with the most.
	ByPart []int
	Most   int64
	// Disk is the bytes of files of all parts, each when it had the most.
	Disk int64
	// Sent are states that were sent to another part, in Messages with SentBytes. Known are those
	// of them that were not new.
	Sent, Messages, Known int
	SentBytes             int64
	// Again are states that were expanded once more, since a process was lost; Lost is how many
	// processes were.
	Again, Lost int
	// Saved are checkpoints of parts, with SavedBytes. Saving is how long they took, of all parts.
	Saved      int
	SavedBytes int64
	Saving     time.Duration
}

// Outcome is what a search has come to.
type Outcome struct {
	Totals
	Partition Partition
	// Reason says why the search ended before it was complete; empty if it was.
	Reason string
	// Digests are those of the states of a run to a violation, and nil if there is none. Failure
	// is what fails in the step behind it; empty if nothing does.
	Digests []uint64
	Failure string
}

// front leads a search. It does not search itself. It has all parts do one level after the other,
// and adds up.
//
// A level has ended when each part has reported, and has received all that the others have said
// they sent to it: messages are counted for each pair of parts (Mattern: "Algorithms for
// Distributed Termination Detection", Distributed Computing 1987). So no message can be under way
// when the last level turns out to be empty.
type front struct {
	Config
	t         Transport
	bound     func(Totals) string
	digests   *digests
	followers map[uint64]*table.Follower
	processes []uint64        // by part
	isOwn     map[uint64]bool // processes that no front before this one has started
	lost      []int           // processes of a part that ended by themselves since its last report
	level     int
	reports   []*report // of the level, by part
	totals    Totals
	// saves are the last checkpoints of each part, the newest one at the end. isNew says that some
	// were not told with a level yet.
	saves [][]checkpoint
	isNew bool
	// places are those of the first messages to each part that are still there.
	places []uint64
}

// Lead has parts search a model, and adds up. Bound is asked after each level whether the search is
// to end, and why. Processes that an earlier search of the session has started are parts of this
// one, too.
func Lead(c Config, s *Session, bound func(Totals) string) (*Outcome, error) {
	if s.processes == nil {
		s.processes = make([]uint64, c.Parts)
	}
	f := &front{Config: c, t: s.Transport, bound: bound,
		digests:   newDigests(c.Names, &c.Global.System, c.Estimate),
		followers: map[uint64]*table.Follower{}, processes: s.processes, isOwn: map[uint64]bool{},
		lost: make([]int, c.Parts), reports: make([]*report, c.Parts), saves: make([][]checkpoint, c.Parts),
		places: make([]uint64, c.Parts)}
	f.totals.ByPart = make([]int, c.Parts)
	if err := f.Partition.check(c.Global.Nodes, f.digests); err != nil {
		return nil, err
	}
	if err := f.goOn(s.lastOf(c.Search)); err != nil {
		return nil, err
	}
	for i, process := range f.processes {
		if process != 0 {
			f.isOwn[process] = true
			continue
		}
		if err := f.start(i); err != nil {
			return nil, err
		}
	}
	for {
		if err := f.await(func() bool { return f.hasReports() }, nil); err != nil {
			return nil, err
		}
		if o, err := f.endLevel(); o != nil || err != nil {
			return o, err
		}
	}
}

// goOn begins at the start, or where another front has ended: it has told its sums with the last
// level that it has begun. What the parts have reported of that level is still there.
func (f *front) goOn(last []byte) error {
	if last == nil {
		var err error
		if f.Partition, err = f.chosen(); err != nil {
			return err
		}
		return f.send(nil, nil)
	}
	_, _, data, err := decode(last)
	b := begin{}
	if err == nil {
		err = read(data, &b)
	}
	if err == nil && b.Model != f.Model {
		err = errModel
	}
	if err == nil {
		f.Partition, err = Parse(b.Partition)
	}
	f.level, f.totals = b.Level, b.Totals
	if len(b.Saves) == f.Parts && len(b.Places) == f.Parts {
		f.saves, f.places = b.Saves, b.Places
	}
	return err
}

// sample is how many states are looked at to choose the nodes that change least.
const sample = 4000

// chosen is the partition function with its nodes. A few levels are searched here for that. What
// changes least near the start need not do so later, but this choice only costs messages if it is
// not the best.
func (f *front) chosen() (Partition, error) {
	if !f.Partition.isOpen {
		return f.Partition.closed(f.digests.orders), nil
	}
	h, err := global.NewShare(f.Global, global.ShareConfig{Digest: f.digests.state,
		Owner: func(*system.State) (int, error) { return 0, nil }})
	if err != nil {
		return f.Partition, err
	}
	defer h.Release()
	// Handlers do not run for what the search does not come to.
	level := 0
	for states, n := 0, h.Begin(); n > 0 && states < sample; n = h.Begin() {
		if level++; f.Global.Depth > 0 && level > f.Global.Depth {
			break
		}
		states += n
		_, reason, err := h.Expand(nil)
		if err != nil {
			return f.Partition, err
		}
		// A bound ends the search when its levels are done, and not here.
		if reason != "" {
			break
		}
	}
	changes, locals, err := changesOf(h, f.Global.Nodes)
	return f.Partition.choose(changes, locals, f.Parts).closed(f.digests.orders), err
}

// send begins a level. With it go the checkpoints: what they make needless is removed afterwards.
func (f *front) send(processes []uint64, batches [][]int) error {
	for part, list := range f.saves {
		// Whoever begins with the older one needs all that came after it.
		if len(list) > 1 {
			f.places[part] = max(f.places[part], list[0].Place)
		}
	}
	return f.t.Send(Levels, encode(kindGo, f.Search, begin{Level: f.level, Model: f.Model,
		Partition: f.Partition.String(), OnlyCount: f.isLast(), Processes: processes, Batches: batches,
		Totals: f.totals, Saves: f.saves, Places: f.places}))
}

// isLast says whether the level is at the bound on the depth.
func (f *front) isLast() bool { return f.Global.Depth > 0 && f.level >= f.Global.Depth }

// start has a new process become a part.
func (f *front) start(part int) error {
	f.processes[part] = rand.Uint64()>>1 | 1
	f.isOwn[f.processes[part]] = true
	var saved []byte
	if len(f.saves[part]) > 0 {
		saved, _ = json.Marshal(savedOf{f.Search, f.saves[part]}) // numbers only
	}
	return f.t.Start(part, f.processes[part], saved)
}

// maxLost is how many processes of a part may end by themselves without a report in between.
const maxLost = 5

// await handles messages until something is so. Answers go to take.
func (f *front) await(isSo func() bool, take func(answer)) error {
	for !isSo() {
		message, _, err := f.t.Receive()
		if err != nil {
			return err
		}
		k, search, data, err := decode(message)
		if err != nil || search != f.Search && k != kindGone {
			continue // of a search before, or of nobody
		}
		if err := f.handle(k, data, take); err != nil {
			return err
		}
	}
	return nil
}

// handle handles a message.
func (f *front) handle(k kind, data []byte, take func(answer)) error {
	switch k {
	case kindReport:
		r := &report{}
		if err := read(data, r); err != nil {
			return err
		}
		return f.take(r)
	case kindAnswer:
		a := answer{}
		if err := read(data, &a); err == nil && take != nil {
			take(a)
		}
	case kindSaved:
		c := checkpoint{}
		if err := read(data, &c); err != nil {
			return err
		}
		f.save(c)
	case kindDamaged:
		d := damaged{}
		if err := read(data, &d); err != nil {
			return err
		}
		return f.drop(d)
	case kindGone:
		g := session.Ended{}
		if err := read(data, &g); err != nil {
			return err
		}
		return f.replace(g)
	}
	return nil
}

// replace starts another process in place of one that is gone.
func (f *front) replace(g session.Ended) error {
	if g.Part < 0 || g.Part >= f.Parts || f.processes[g.Part] != g.Process {
		return nil // it was replaced before
	}
	f.totals.Lost++
	if g.ByItself {
		f.lost[g.Part]++
	}
	if f.lost[g.Part] > maxLost {
		return fmt.Errorf("part %d of the search was begun %d times, and each process ended: %s; if the "+
			"system has killed them, divide the search into more parts, on more workers, or bound "+
			"Options.Memory", g.Part, maxLost+1, g.Reason)
	}
	return f.start(g.Part)
}

// take takes a report. What the table of the process has goes into the table here, so that this has
// all that there is. Of several processes that have done a level, the first one counts.
func (f *front) take(r *report) error {
	if r.Error != "" {
		return errors.New(r.Error)
	}
	if r.Part < 0 || r.Part >= f.Parts {
		return nil
	}
	follower := f.followers[r.Process]
	if follower == nil {
		follower = f.Global.Table.NewFollower()
		f.followers[r.Process] = follower
	}
	if err := follow(follower, r.Entries, r.From, r.To); err != nil {
		return err
	}
	if r.Level != f.level || f.reports[r.Part] != nil {
		// What the processes of a front before this one have done is in its sums.
		isRepeated := r.Level == f.level && f.reports[r.Part].Process == r.Process
		if r.Level <= f.level && !isRepeated && f.isOwn[r.Process] {
			f.totals.Again += r.States
		}
		return nil
	}
	f.reports[r.Part] = r
	f.lost[r.Part] = 0
	return nil
}

// hasReports says whether the level was reported by all parts.
func (f *front) hasReports() bool {
	for _, r := range f.reports {
		if r == nil {
			return false
		}
	}
	return true
}

// reasonDepth is why a search ends at the bound on the depth.
const reasonDepth = "the bound on the depth was reached"

// endLevel adds up a level, and begins the next one unless the search has ended.
func (f *front) endLevel() (*Outcome, error) {
	frontier, reason := 0, ""
	var least *found
	processes, batches := make([]uint64, f.Parts), make([][]int, f.Parts)
	bytes, disk := int64(0), int64(0)
	for i, r := range f.reports {
		processes[i], batches[i] = r.Process, r.Batches
		frontier += r.States
		f.totals.ByPart[i] += r.States
		f.totals.Transitions += r.Transitions
		f.totals.Reached |= r.Reached
		f.totals.Sent += r.Sent
		f.totals.SentBytes += r.SentBytes
		f.totals.Known += r.Known
		f.totals.Again += r.Again
		bytes += r.Bytes
		disk += r.Disk
		f.totals.Most = max(f.totals.Most, r.Bytes)
		for _, n := range r.Batches {
			f.totals.Messages += n
		}
		if r.Reason != "" {
			reason = r.Reason
		}
		if r.Found != nil && (least == nil || r.Found.compare(least) < 0) {
			least = r.Found
		}
	}
	f.totals.States += frontier
	f.totals.Bytes, f.totals.Disk = bytes, max(f.totals.Disk, disk)
	if f.isLast() {
		f.totals.Frontier = frontier
	}
	o := &Outcome{Partition: f.Partition, Reason: reason}
	if frontier > 0 {
		f.totals.Depth = f.level
	}
	err := f.t.Tell(session.Progress{States: f.totals.States, Transitions: f.totals.Transitions,
		Depth: f.totals.Depth})
	if err != nil {
		return nil, err
	}
	if least != nil {
		err := f.find(o, least)
		o.Totals, o.Reason = f.totals, ""
		return o, err
	}
	isOver := frontier == 0 || reason != ""
	if !isOver && f.isLast() {
		o.Reason, isOver = reasonDepth, true
	}
	if !isOver {
		o.Reason = f.bound(f.totals)
		isOver = o.Reason != ""
	}
	if isOver {
		o.Totals = f.totals
		return o, nil
	}
	f.level++
	clear(f.reports)
	if err := f.send(processes, batches); err != nil {
		return nil, err
	}
	return nil, f.keep()
}

func (f *found) compare(other *found) int {
	a := global.Found{IsLonger: f.IsLonger, Digest: f.Digest, Property: f.Property, Failure: f.Failure,
		IsStep: f.IsStep}
	b := global.Found{IsLonger: other.IsLonger, Digest: other.Digest, Property: other.Property,
		Failure: other.Failure, IsStep: other.IsStep}
	return a.Compare(&b)
}

// find finds the states of a run to a violation, from its end to the start. Before each state comes
// the one with the least digest of those that lead to it, whichever the search has come from. So
// the run does not depend on what divides the search.
func (f *front) find(o *Outcome, last *found) error {
	level := f.level
	// A state that violates something is one step behind those that were expanded.
	if last.IsLonger && !last.IsStep {
		level++
	}
	o.Digests = []uint64{last.Digest} // the last one first, for now
	if last.IsStep {
		o.Failure = last.Failure
	}
	target := ask{Digest: last.Digest, Locals: last.Locals}
	for level--; level >= 0; level-- {
		target.Level = level
		best, err := f.before(target)
		if err != nil {
			return err
		}
		o.Digests = append(o.Digests, best.Digest)
		target = ask{Digest: best.Digest, Locals: best.Locals}
	}
	slices.Reverse(o.Digests)
	return nil
}

// errNoWay is of a state that nobody knows how to reach.
var errNoWay = errors.New("no part knows how a state was reached: see that the model does the same in all " +
	"processes")

// before asks all parts for the state before one.
func (f *front) before(target ask) (best answer, err error) {
	if err := f.t.Send(All, encode(kindAsk, f.Search, target)); err != nil {
		return best, err
	}
	answers := map[int]bool{}
	err = f.await(func() bool { return len(answers) == f.Parts }, func(a answer) {
		if a.Level != target.Level || answers[a.Part] {
			return
		}
		answers[a.Part] = true
		if a.Ok && (!best.Ok || a.Digest < best.Digest) {
			best = a
		}
	})
	if err == nil && !best.Ok {
		err = errNoWay
	}
	return best, err
}

// End ends a search. All parts return the result, also those that become one later: they come to
// the next search then, and need nothing else of this one.
func End(t Transport, search int, result []byte) error {
	err := t.Send(Ends, append(appendHead(nil, kindEnd, search), result...))
	if err == nil {
		err = t.Forget()
	}
	return err
}

// String says what the parts have done.
func (o *Outcome) String() string {
	most := slices.Max(o.ByPart)
	each := func(n float64) float64 { return n / float64(max(1, o.States)) }
	return fmt.Sprintf("%d parts by %v: the largest has %.2f times the mean, and takes %d MB; files had "+
		"%.1f bytes for each state; %d states were sent in %d messages: %.2f states and %.1f bytes for each "+
		"state that was visited; receivers knew %d of them; %d processes were lost, and %d states were "+
		"expanded again; %d checkpoints with %.1f bytes for each state took %.1f s", len(o.ByPart),
		o.Partition, each(float64(most*len(o.ByPart))), o.Most>>20, each(float64(o.Disk)), o.Sent,
		o.Messages, each(float64(o.Sent)), each(float64(o.SentBytes)), o.Known, o.Lost, o.Again, o.Saved,
		each(float64(o.SavedBytes)), o.Saving.Seconds())
}

// Progress is how far all parts are.
func (t Totals) Progress() global.Progress {
	return global.Progress{States: t.States, Expanded: t.States - t.Frontier, Transitions: t.Transitions,
		Depth: t.Depth, Bytes: t.Bytes, Disk: t.Disk}
}
