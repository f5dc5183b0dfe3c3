// Package iocache remembers what a group of peers has answered, so that an execution that repeats
// earlier requests is served without touching a process.
//
// The cache is a tree. An edge is an input to the peer group (connect, listen, bytes sent, half
// close, close, and that time passes); a node is the place after it, and holds all that the group
// did in reaction until it was quiescent. An execution is a cursor that moves down the tree from
// the root: the I/O cache of Leungwattanakit, Artho, Hagiya, Tanabe, Yamamoto, "Model Checking
// Distributed Systems by Combining Caching and Process Checkpointing", ASE 2011, section III. In
// group scope there is one tree over the total order of the group's inputs, which is right for any
// peers; in connection scope, that of the paper, one tree for each connection, which rests on the
// assumption that what arrives on a connection depends on nothing but the inputs on it. An
// Execution moves through the cache in either scope; where it stands is a Position: places, one in
// each tree.
//
// Bytes are matched as streams: write("ab") and write("a"), write("b") meet in the same place, and
// their reactions are concatenated per connection. That rests on the assumption that a peer's
// answers depend on the bytes and not on how they were cut into writes. Wherever two recorded
// answers allow it the assumption is checked, and an *Inconsistency shows the contradiction.
//
// Reactions that the cache gives out share its memory and must not be modified. They are in their
// normal form.
//
// The package is pure: no I/O, no goroutines, no clock. A Cache must not be used by two goroutines
// at the same time.
package iocache

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/internal/invariant"
	"github.com/tandem-mc/tandem/internal/model"
)

// The vocabulary of package model, by the names that it has there.
type (
	Kind     = model.Kind
	Input    = model.Input
	Reaction = model.Reaction
	Delivery = model.Delivery
	Ending   = model.Ending
	End      = model.End
	Time     = model.Time
)

// The kinds of inputs, the ends of streams, and the greatest time of a Pass to the first timer.
const (
	Connect   = model.Connect
	Send      = model.Send
	Shutdown  = model.Shutdown
	Close     = model.Close
	Choose    = model.Choose
	Listen    = model.Listen
	Pass      = model.Pass
	StillOpen = model.StillOpen
	EOF       = model.EOF
	Reset     = model.Reset
	Once      = model.Once
)

// Step is one edge of a path: the input, the reaction, and the place after it.
type Step struct {
	Input    Input
	Reaction Reaction
	Node     NodeID
}

// Limits bound what a cache may hold. A zero means the default.
type Limits struct {
	Nodes int   // places in the tree, default 4 million
	Bytes int64 // memory held, in bytes, default 1 GiB; beyond, see SpillTo
}

// Stats counts what a cache did and holds.
type Stats struct {
	Hits, Misses int   // answers of Lookup
	Nodes        int   // places in the tree, branching points without a reaction included
	Bytes        int64 // memory held, estimated
	Images       int   // physical checkpoints
	Spilled      int   // reactions that are in the Store
	Outage       Outage
}

// Outage says that the Store could not take what was to be put there.
type Outage struct {
	Failed int   // how often that was so; it was tried again after each time
	First  error // why for the first time; nil: never
	// Exceeded is how many bytes more than the limit the cache held at most meanwhile: never more
	// than a quarter of it.
	Exceeded int64
}

// Cache is the tree of all inputs and reactions so far. Make one with New.
type Cache struct {
	placeTree
	limits  Limits
	isRoomy bool // see Roomy
	hits    int
	misses  int
	images  images
}

// New returns an empty cache. It panics if a limit is negative or there may be
// more nodes than a NodeID can name.
func New(limits Limits) *Cache {
	if limits.Nodes < 0 || limits.Nodes > math.MaxInt32 || limits.Bytes < 0 {
		invariant.Failf("iocache: limits out of range: %+v", limits)
	}
	if limits.Nodes == 0 {
		limits.Nodes = 4 << 20
	}
	if limits.Bytes == 0 {
		limits.Bytes = 1 << 30
	}
	return &Cache{
		limits: limits,
		placeTree: placeTree{
			nodes:  []node{{answered: true}},
			states: [][]connState{nil},
			answerStore: answerStore{
				seed: maphash.MakeSeed(), answers: []answer{{}}, spilled: map[answerID]stored{},
				bytes: nodeBytes,
			},
		},
		images: images{at: map[NodeID][]image{}, ranks: map[NodeID]rank{},
			past: map[NodeID]int{}, starts: map[NodeID]int{}},
	}
}

// Lookup answers an input of an execution that stands at cur.
//
// On a hit, served is the group's reaction and next the place after it. On a
// miss, served and next are what could be answered before the miss, and rest is
// the input that the group, standing at next, must be given; its reaction
// then goes to Record. Only a Send can be served in part.
//
// An input that cannot reach the group is a hit that changes nothing: on a
// connection that was refused, reset, or closed, after a half close, or no bytes
// at all. Which error the SUT gets for it is up to its sockets. An input on a
// connection that was never opened, a connect or listen out of order, or bytes to a
// listener, are a panic.
//
// A hit costs one table access per edge, whatever the depth. The error is a *SpillError.
func (c *Cache) Lookup(cur NodeID, in Input) (next NodeID, served Reaction, rest Input, hit bool, err error) {
	var f found
	switch err := c.lookup(cur, &in, &f); {
	case err != nil:
		return cur, Reaction{}, Input{}, false, err
	case f.hit:
		c.hits++
	default:
		c.misses++
	}
	return f.next, f.served, f.rest, f.hit, nil
}

// Record adds what the group, standing at cur, has answered to in, and returns
// the place after it. The cache copies both.
//
// An answer that contradicts one already recorded is an *Inconsistency, one for
// which there is no room a *LimitError; any other error means that r cannot be a
// reaction to in. After an error the cache is as it was before. To record the
// same answer again is allowed and changes nothing.
func (c *Cache) Record(cur NodeID, in Input, r Reaction) (NodeID, error) {
	at := c.place(cur)
	at.mustAccept(&in)
	if err := at.plausible(in, r); err != nil {
		return cur, err
	}
	if !at.reaches(&in) {
		return cur, nil
	}
	record := c.recordControl
	if in.Kind == Send {
		record = c.recordSend
	}
	to, err := record(cur, in, r.Normal())
	if err != nil {
		return cur, err
	}
	return to, nil
}

// Path lists what to replay to bring a group that stands at from to the place
// to, and the reactions it must show again. It panics unless from lies on the
// path from the root of its tree to to. The error is a *SpillError.
func (c *Cache) Path(from, to NodeID) ([]Step, error) {
	c.mustBePlace(from)
	c.mustBePlace(to)
	var steps []Step
	for n := to; n != from; n = c.base(n) {
		if c.isTop(n) {
			invariant.Failf("iocache: place %d is not on the path to place %d", from, to)
		}
		r, err := c.reactionOf(n)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Input: c.inputOf(n), Reaction: r, Node: n})
	}
	slices.Reverse(steps)
	return steps, nil
}

// Compare checks a replayed step of a Path: got must equal step.Reaction, but for what a
// Mask says. If it
// does not, the peers are nondeterministic, and the error is an *Inconsistency
// that shows both.
func (c *Cache) Compare(step Step, got Reaction) error {
	got = got.Normal()
	if c.same(step.Node, step.Reaction, got) {
		return nil
	}
	return c.repeatedDifferently(c.base(step.Node), step.Input, step.Reaction, got)
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	return Stats{
		Hits:   c.hits,
		Misses: c.misses,
		Nodes:  len(c.nodes),
		Bytes:  c.bytes,
		Images: c.images.count, Spilled: len(c.spilled),
		Outage: Outage{Failed: c.outage.failed, First: c.outage.first, Exceeded: c.outage.exceeded},
	}
}

// SpillTo has the cache put reactions into a store when it reaches the limit of bytes: those that
// were not looked up for the longest time, nearly (the clock algorithm). What is spilled is
// answered as before, but for the time that it takes to read. Requests and the tree itself stay in
// memory.
//
// If the store fails, as on a full disk, it is tried again when the cache has grown by a 256th of
// its limit, then by twice as much, and so on up to a 32nd. Meanwhile the cache may hold a quarter
// more than its limit. That is in Stats.
func (c *Cache) SpillTo(s Store) { c.store, c.outage = s, outage{} }

// Limit sets the limit of bytes.
func (c *Cache) Limit(bytes int64) { c.limits.Bytes, c.isRoomy = bytes, false }

// Roomy sets a limit of bytes beyond which the cache spills, but refuses nothing for want of room
// as long as that works. It is for what is read from a file: there was room for it once.
func (c *Cache) Roomy(bytes int64) { c.limits.Bytes, c.isRoomy = bytes, true }

// Rules are the masks and the limit of bytes, for a copy of the cache.
func (c *Cache) Rules() (masks []Mask, bytes int64) { return slices.Clone(c.masks), c.limits.Bytes }

// SetMasks sets the rules. They hold for what is compared from now on.
func (c *Cache) SetMasks(masks []Mask) { c.masks = slices.Clone(masks) }

// Cursor returns a cursor at the root, for a new execution.
func (c *Cache) Cursor(s Scope) *Cursor {
	return &Cursor{cache: c, scope: s, at: Position{Root}}
}
