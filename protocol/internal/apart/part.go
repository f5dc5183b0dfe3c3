package apart

import (
	"errors"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/overflow"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config is what the front and all parts are made from, each in a process of its own.
type Config struct {
	// Global is the search, without bounds. Its Stop ends a part whose process has become too
	// large.
	Global global.Config
	Names  Names
	// Model says which model it is, in all processes alike.
	Model string
	// Fault is why this process cannot search, which ends the search of all; nil: it can.
	Fault error
	// Estimate is that of a state, which is the same in all processes; nil: there is none.
	Estimate func(*system.State) (int, error)
	// Explain says of an error of the search what can be done; it may be nil.
	Explain func(error) error
	// Parts is how many there are, Partition what divides states among them.
	Parts     int
	Partition Partition
	// Search is the number of the search among those of the process.
	Search int
	// Batch is how many bytes of states are sent together; 0: as many as fit a message.
	Batch int
	// Every is the least time between two checkpoints of a part; zero: there are none. Always has
	// one at each level.
	Every  time.Duration
	Always bool
}

// batchBytes is less than what a message may have, since entries of the table come with it.
const batchBytes = 256 << 10

// part does one part of a search. All that it does follows from the messages that it gets, so
// another process that gets the same ones becomes the same part.
type part struct {
	Config
	t       Transport
	own     int
	process uint64
	digests *digests
	share   *overflow.Share
	queue   *queue
	level   int // that is to come
	told    overflow.Tally
	// followers know the tables of other processes.
	followers map[uint64]*table.Follower
	inbox     inbox
	// Of those that are sent to each part: the states, how many batches there were in this level,
	// and how many entries of the table were sent. The last ones are those of the front.
	out     []batch
	numbers []int
	entries []int
	report  report
	// isSilent: the level was done by another process before, and nobody waits for it.
	isSilent bool
	again    int // states of such levels
	state    system.State
	before   system.State
	saver    saver
}

// newPart has no states yet.
func newPart(c Config, s *Session) *part {
	p := &part{Config: c, t: s.Transport, own: s.Own, process: s.Process,
		digests:   newDigests(c.Names, &c.Global.System, c.Estimate),
		followers: map[uint64]*table.Follower{}, inbox: newInbox(c.Global.Disk),
		out: make([]batch, c.Parts), numbers: make([]int, c.Parts), entries: make([]int, c.Parts+1),
		saver: saver{t: s.Transport, own: s.Own, process: s.Process, every: c.Every, always: c.Always,
			last: time.Now(), size: pieceBytes}}
	if p.Batch == 0 {
		p.Batch = batchBytes
	}
	// Who has small batches for a test has small pieces, too. And pieces that wait are in memory.
	p.saver.size = min(pieceBytes, 32*p.Batch)
	if c.Global.Disk != nil {
		p.saver.size = min(p.saver.size, int(c.Global.Disk.Sizes.Table)/(4*maxPieces)+1)
	}
	for i := range p.out {
		p.out[i].y = &p.Global.System
	}
	return p
}

// Join does a part until the search ends, and returns what the front has made of it. It begins with
// the last checkpoint of the part, if there is one.
func Join(c Config, s *Session) (result []byte, err error) {
	p := newPart(c, s)
	defer func() {
		p.saver.close()
		if p.share != nil {
			err = errors.Join(err, p.share.Release())
		}
	}()
	if err = c.Fault; err == nil {
		err = p.restore(s.Saved)
	}
	p.queue = newQueue(p.t, c.Search, waiting(c.Global.Disk))
	if errors.Is(err, errDamaged) {
		return p.linger(err)
	} else if err != nil {
		if err := p.fail(err); err != nil {
			return nil, err
		}
	}
	var next *begin // which waits for batches
	place := uint64(0)
	for {
		m, err := p.queue.next()
		if err != nil {
			return nil, err
		}
		switch m.kind {
		case kindEnd:
			return m.data, nil
		case kindAsk:
			err = p.answer(m.data)
		case kindBatch:
			err = p.keep(m.data)
		case kindGo:
			b := &begin{}
			// Of a message that comes twice the first one is before all of the level.
			if err = read(m.data, b); err == nil && b.Level == p.level && next == nil {
				next, place = b, m.place
			}
		}
		if err == nil && next != nil && p.hasAll(next) {
			err = p.expand(next)
			next = nil
			if err == nil && !p.isSilent && p.saver.isDue() {
				err = p.save(place)
			}
		}
		if err != nil {
			if err := p.fail(err); err != nil {
				return nil, err
			}
		}
	}
}

// fail tells the front of an error. It ends the search, whatever the others do.
func (p *part) fail(err error) error {
	if p.Explain != nil {
		err = p.Explain(err)
	}
	p.report = report{Part: p.own, Process: p.process, Level: p.level, Error: err.Error()}
	return p.t.Send(Front, encode(kindReport, p.Search, p.report))
}

// keep keeps a batch until its level has ended. The entries of the table are of use in any case:
// those of later batches follow them.
func (p *part) keep(data []byte) error {
	h, entries, states, err := readBatch(data)
	if err != nil {
		return err
	}
	f := p.followers[h.Process]
	if f == nil {
		f = p.Global.Table.NewFollower()
		p.followers[h.Process] = f
	}
	if err := follow(f, entries, h.first, h.last); err != nil || h.Level+1 < p.level {
		return err
	}
	return p.inbox.put(origin{h.Level, h.Process}, h.Number, received{follower: f, states: states}, p.share)
}

// hasAll says whether all batches are there that a level begins with.
func (p *part) hasAll(b *begin) bool {
	for from, process := range b.Processes {
		if from != p.own && len(p.inbox.batches[origin{b.Level - 1, process}]) < b.Batches[from][p.own] {
			return false
		}
	}
	return true
}

// expand does a level. First come the states that others have reached in the level before, which
// are new or known. Then all own states of the level are expanded. What is sent may be known where
// it is sent to. It was met here for the first time, so only the one that it belongs to can tell.
// Levels that another process has done for this part are done silently, for the states alone.
func (p *part) expand(b *begin) error {
	if b.Model != p.Model {
		return errModel
	}
	if p.share == nil {
		if err := p.begin(b); err != nil {
			return err
		}
	}
	p.report = report{Part: p.own, Process: p.process, Level: b.Level}
	for from, process := range b.Processes {
		if from == p.own {
			continue
		}
		for _, r := range p.inbox.batches[origin{b.Level - 1, process}][:b.Batches[from][p.own]] {
			if err := p.receive(r); err != nil {
				return err
			}
		}
	}
	if err := p.inbox.drop(b.Level); err != nil {
		return err
	}
	p.level = b.Level + 1
	p.isSilent = p.queue.lastLevel() > b.Level
	clear(p.numbers)
	var err error
	if p.report.States, p.report.Known, err = p.share.Begin(); err != nil {
		return err
	}
	if b.OnlyCount {
		return p.tell(nil)
	}
	found, reason, err := p.share.Expand(p.hand)
	if err != nil {
		return err
	}
	for to := range p.out {
		if err := p.send(to); err != nil {
			return err
		}
	}
	// A part has no bounds but those on the memory of its process, and on its files.
	if reason != "" {
		p.report.Reason = fmt.Sprintf("%s by part %d of %d: divide the search into more parts, on more "+
			"workers, or raise the bound (Options.Memory, Options.Disk)", reason, p.own, p.Parts)
		// With a proviso files are refused.
		if p.Global.Disk == nil && !p.Global.Proviso {
			p.report.Reason += ", or have states in files (Options.External)"
		}
	}
	return p.tell(found)
}

// begin makes the share, when the partition function is known.
func (p *part) begin(b *begin) (err error) {
	if p.Partition, err = Parse(b.Partition); err != nil {
		return err
	}
	p.share, err = overflow.New(p.shareConfig())
	return err
}

// shareConfig divides states by the partition function.
func (p *part) shareConfig() overflow.Config {
	return overflow.Config{Global: p.Global, HasCheckpoints: p.Every > 0 || p.Always,
		Whose: global.ShareConfig{Digest: p.digests.state, Own: p.own, ByLocals: p.Partition.Nodes,
			Owner: func(s *system.State) (int, error) { return p.Partition.owner(p.digests, s, p.Parts) }}}
}

// errOther is of processes whose handlers do different things.
var errOther = errors.New("handlers do other things in another process: what they do may depend on nothing " +
	"but the node and the event, and not on the machine, its files or its environment")

// errModel is of processes that do not come to the same model.
var errModel = errors.New("a process checks another model than the one that leads: have the test come to " +
	"the same models in the same order each time, whatever the machine, its files and its environment are")

// receive adds the states of a batch.
func (p *part) receive(r received) error {
	f, isSame := r.follower, false
	states, err := p.inbox.open(r)
	if err != nil {
		return err
	}
	for u := (&unbatch{reader: reader{in: states}, y: &p.Global.System}); ; {
		ok, err := u.next()
		if err != nil || !ok {
			return err
		}
		if isSame = isSame && u.isSame; !isSame && u.node > 0 {
			if err := translate(f, u.y, &p.before, &u.before); err != nil {
				return err
			}
		}
		if err := translate(f, u.y, &p.state, &u.state); err != nil {
			return err
		}
		if err := p.share.Receive(&p.before, isSame, &p.state, u.node); err != nil {
			return err
		}
		isSame = u.node > 0
	}
}

// follow follows a table, and says what an error means.
func follow(f *table.Follower, entries []byte, first, last int) error {
	err := f.Follow(entries, first, last)
	switch {
	case errors.Is(err, table.ErrOther):
		return errOther
	case errors.Is(err, table.ErrKept):
		return ErrMessage
	}
	return err
}

// hand puts a state of another part into its batch.
func (p *part) hand(to int, number uint64, before, s *system.State, node uint8) error {
	if p.isSilent {
		return nil
	}
	b := &p.out[to]
	if b.add(number, before, s, node); len(b.data) < p.Batch {
		return nil
	}
	return p.send(to)
}

// send sends a batch, unless it is empty.
func (p *part) send(to int) error {
	b := &p.out[to]
	if b.states == 0 {
		return nil
	}
	h := batchHead{Level: p.report.Level, From: p.own, Number: p.numbers[to], Process: p.process,
		first: p.entries[to]}
	entries, last := p.Global.Table.AppendSince(nil, h.first)
	h.last, p.entries[to] = last, last
	p.numbers[to]++
	m := b.message(p.Search, h, entries)
	p.report.Sent += b.states
	p.report.SentBytes += int64(len(m))
	b.reset()
	return p.t.Send(to, m)
}

// tell reports the level to the front.
func (p *part) tell(f *global.Found) (err error) {
	if p.isSilent {
		p.told = p.share.Tally()
		p.again += p.report.States
		return nil
	}
	r := &p.report
	r.Again, p.again = p.again, 0
	r.Batches = p.numbers
	tally := p.share.Tally()
	r.Transitions, r.Reached, r.Bytes = tally.Transitions-p.told.Transitions, tally.Reached, tally.Bytes
	r.Disk = tally.Disk
	p.told = tally
	if f != nil && f.Failure != "" && p.digests.orders != nil {
		f.Failure = anyFailure
	}
	if f != nil {
		r.Found = &found{IsLonger: f.IsLonger, Digest: f.Digest, Property: f.Property, Failure: f.Failure,
			IsStep: f.IsStep}
		if r.Found.Locals, err = p.digests.localsOf(f.Locals); err != nil {
			return err
		}
	}
	r.From = p.entries[p.Parts]
	r.Entries, r.To = p.Global.Table.AppendSince(nil, r.From)
	p.entries[p.Parts] = r.To
	return p.t.Send(Front, encode(kindReport, p.Search, r))
}

// anyFailure is what fails where nodes are alike: the text may name one of them.
const anyFailure = "a step fails"

// answer looks for the state before another one. They differ in the local state of one node, or of
// none if a fault of the network is between them. So most states of the level are passed by, and
// few are expanded once more. States of others that were met in the level are looked at, too: they
// are as far from the start, or nearer, and then do not lead there.
func (p *part) answer(data []byte) error {
	a := ask{}
	if err := read(data, &a); err != nil {
		return err
	}
	reply := answer{Part: p.own, Level: a.Level}
	mayLead := func(locals []table.Local) bool {
		list, err := p.digests.localsOf(locals)
		return err == nil && !p.digests.differ(list, a.Locals)
	}
	digest, locals, ok, err := p.share.Before(a.Level, a.Digest, mayLead)
	if err == nil && ok {
		reply.Ok, reply.Digest = true, digest
		reply.Locals, err = p.digests.localsOf(locals)
	}
	if err != nil {
		return err
	}
	return p.t.Send(Front, encode(kindAnswer, p.Search, reply))
}
