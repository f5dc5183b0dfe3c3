package driver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
)

// The peers are in one process, which has their cache. A driver in another process has a copy of
// that cache, and no peers. What its copy does not know it asks the first driver, which answers as
// it does for a session of its own. All answers that are recorded are numbered in their order. The
// copy records the same ones in the same order. So a place has the same number in both, and who
// stands somewhere in the copy can go on in the original.

// Question is what a driver without peers wants to know.
type Question struct {
	Known int // answers that it has
	// Input is what its execution gives the peers next; nil: nothing, and only answers are wanted.
	// The rest says where that execution stands.
	Input       *model.Input
	At          iocache.Position
	Started     iocache.NodeID
	Behaviour   int
	Connections []string
	Forecast    float64
}

// Reply answers a question. After the last reply to a question the copy knows the input.
type Reply struct {
	Answers []byte // those that follow the known ones, as in a file but for its header
	More    bool   // there are others, too, for a question without an input
	Asked   bool   // the cache did not know the input, so the peers were asked
}

// Far is a driver in another process that has the peers.
type Far interface {
	Ask(context.Context, *Question) (Reply, error)
}

// Published answers drivers in other processes. Its methods may be called by several goroutines.
type Published struct {
	d *Driver

	mu     sync.Mutex // guards what follows; taken while that of the driver is held, or alone
	counts Counts
	asked  int // how often, for an input
	news   int // of these inputs that the peers had to answer
}

// Publish has the answers of a driver with Config.Shared be those of others, too.
func Publish(d *Driver) *Published { return &Published{d: d} }

// maxReply bounds the answers in a reply, in bytes, if there are several.
const maxReply = 256 << 10

// Answer answers a question, as Session.Exchange does. Waits on peers end with the context, which
// has to end with that of the driver. The error is one of the peers, or of the question.
func (p *Published) Answer(ctx context.Context, q *Question) (Reply, error) {
	if err := p.Problem(); err != nil {
		return Reply{}, err
	}
	asked := false
	if q.Input != nil {
		var err error
		if asked, err = p.give(ctx, q); err != nil {
			return Reply{}, err
		}
	}
	answers, more, err := p.d.journal.after(q.Known, maxReply)
	return Reply{answers, more, asked}, err
}

// give has the driver know the input of a question. It reports whether the peers were asked.
func (p *Published) give(ctx context.Context, q *Question) (asked bool, err error) {
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	in := *q.Input
	if in.Opens() && in.Conn >= 0 && in.Conn < len(q.Connections) {
		in.Name = q.Connections[in.Conn] // files do without it, and so do messages
	}
	cursor, err := iocache.CursorAt(d.cache, d.scope, q.At, in)
	if err == nil && (q.Behaviour < 0 || q.Behaviour >= max(d.Behaviours(), 1)) {
		err = fmt.Errorf("the peers have no behaviour %d", q.Behaviour)
	}
	if err == nil && !d.cache.IsOnTheWay(q.Started, q.At[0]) {
		err = fmt.Errorf("a group that was started at place %d does not come to %d", q.Started, q.At[0])
	}
	if err != nil {
		return false, err
	}
	// It has no other memory of the execution, and needs none: the worker has it.
	var counts Counts
	s := &Session{d: d, Counts: &counts, ctx: ctx, cursor: cursor, started: q.Started, behaviour: q.Behaviour,
		connections: q.Connections, forecast: q.Forecast}
	_, hit, err := s.find(in)
	counts.Hits = 0 // the asker counts it
	if err != nil {
		counts.Misses = 0 // there is no answer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(counts)
	if err == nil { // else the worker asks again
		p.asked++
	}
	p.news += counts.Misses
	return !hit, err
}

// Problem is why others get no answers any more; nil: they do.
func (p *Published) Problem() error { return p.d.journal.problem() }

// NoteFirst counts an execution that was run for others, of a search that begins with the same one.
func (p *Published) NoteFirst(c Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Hits = -c.Misses // since the search then counts hits
	p.counts.Add(c)
}

// Counts is what work with the peers was done for others.
func (p *Published) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Asked is for how many inputs others have asked, and for how many of these the peers were.
func (p *Published) Asked() (inputs, news int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.news
}

// Follower is a driver with a copy of the cache of another one. The lock of the driver guards it.
type Follower struct {
	*Driver
	far   Far
	known int // answers in the copy
}

// Follow returns a driver without peers. Of the configuration it needs the peers and the scope.
func Follow(ctx context.Context, c Config, far Far) *Follower {
	f := &Follower{Driver: New(ctx, c), far: far}
	f.elsewhere = f
	return f
}

// find implements source: hit is whether the other driver knew the rest of the input.
func (f *Follower) find(s *Session, served model.Reaction, rest model.Input) (
	_ model.Reaction, hit bool, err error) {
	asked, err := f.ask(s.ctx, &Question{Input: &rest, At: s.cursor.At(), Started: s.started,
		Behaviour: s.behaviour, Connections: s.connections, Forecast: s.forecast})
	if err != nil {
		return served, false, err
	}
	more, _, hit, err := s.cursor.Lookup(rest)
	if err == nil && !hit {
		err = fmt.Errorf("the answer of the peers to %v did not come", rest)
	}
	return join(served, more), !asked, err
}

// ask asks a question until the copy has all answers. It reports whether the peers were asked.
func (f *Follower) ask(ctx context.Context, q *Question) (asked bool, err error) {
	for {
		q.Known = f.known
		r, err := f.far.Ask(ctx, q)
		if err == nil {
			err = f.take(r.Answers)
		}
		if asked = asked || r.Asked; err != nil || !r.More {
			return asked, err
		}
		q.Input = nil // it has its answer, which is among those that follow
	}
}

// take records answers. An error of one leaves those before it.
func (f *Follower) take(answers []byte) error {
	header := bytes.NewReader(iocache.AppendHeader(nil, ""))
	r, err := iocache.NewReader(bufio.NewReader(io.MultiReader(header, bytes.NewReader(answers))))
	for err == nil {
		var e iocache.Entry
		if e, err = r.Next(); err == nil {
			if err = f.cache.Restore(e); err == nil {
				f.known++
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("copying answers of the peers: %w", err)
}

// CatchUp has the copy have all answers that were recorded so far.
func (f *Follower) CatchUp() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.ask(f.ctx, &Question{})
	return err
}

// Used are addresses that executions have used, in no particular order.
func (f *Follower) Used() []Use {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.addresses))
}

// Refuses says what is wrong with what was found elsewhere: a place at which an execution ended
// that is not there, or an address that is none.
func (p *Published) Refuses(ends []iocache.NodeID, used []Use) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	for _, n := range ends {
		if !p.d.cache.HasPlace(n) {
			return fmt.Errorf("an execution ended at place %d of the cache, which is not there", n)
		}
	}
	for _, u := range used {
		if _, err := proxy.ParseAddress(u.Address); err != nil {
			return fmt.Errorf("an address that was used: %w", err)
		}
	}
	return nil
}

// NoteUsed notes addresses that executions elsewhere have used, which Refuses does not refuse.
func (p *Published) NoteUsed(list []Use) {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	for _, u := range list {
		p.d.addresses.note(model.Input{Kind: u.Kind, Addr: u.Address})
	}
}
