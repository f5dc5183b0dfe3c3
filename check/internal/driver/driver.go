// Package driver answers for the other side of the program's connections. It takes the answers from
// the I/O cache where it can. Otherwise it brings the real peers to where the execution stands in
// the cache, gives them the input, and records their reaction.
//
// A Driver has the cache and the groups of peers. A Session is the part of one executor: where its
// execution stands. All sessions share the driver, one at a time.
package driver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/strategy"
)

// Config says which peers there are, and how they are kept at the cursor. It is fixed for the whole
// search. Limits of memory are the daemon's; the driver only repeats them in messages.
type Config struct {
	Start    Starter // nil: no peers are configured
	Spec     peers.Group
	Strategy strategy.Strategy
	Scope    iocache.Scope
	Patience time.Duration // for timers of peers that have the machine's clock
	Room     int64         // how much memory checkpoints may take, in bytes, as messages say it
	Guess    time.Duration // what the first checkpoint is taken to cost
	Shared   int64         // bytes that answers may take which are kept for others, if some ask; else 0
}

// Driver answers for the peers. Its methods may be called by several goroutines, but for Adopt,
// Recall, Standing, Close, OnRecord and Cache.
type Driver struct {
	ctx     context.Context // ends all waits on peers
	config  Config
	spec    peers.Group
	scope   iocache.Scope
	journal *journal // nil: nobody asks

	mu        sync.Mutex // guards what follows
	elsewhere source     // answers what the cache does not know; nil: the peers are here
	cache     *iocache.Cache
	naming    naming
	earlier   string                // why the cache has answers of other processes; empty: it has none
	record    []func(iocache.Entry) // told of every answer that is recorded
	groups    []*groupState         // the one that is needed now is the first
	cost      costModel
	found     findings
	restored  string                    // how the group was brought back, until the next answer is recorded
	origin    map[iocache.NodeID]string // for each answer that followed a restore, how
	outputs   outputLog
	addresses addressUse
}

// source has peers that are not here.
type source interface {
	// find goes on where the cache does not know the rest of an input. Hit is whether it was known
	// elsewhere. Served is what the cache has answered already. The caller holds the lock.
	find(s *Session, served model.Reaction, rest model.Input) (_ model.Reaction, hit bool, err error)
}

// findings is what is known of the peers, beside their answers.
type findings struct {
	reads          shim.Summary    // of the time and of random numbers, after inputs
	uninstrumented map[string]bool // processes of which nobody knows what they read
	refusal        string          // why the memory backend does not hold the group
	unstored       string          // why the first checkpoint that is missing could not be stored
	crowded        bool            // checkpoints were dropped or not stored since there was no more room
	killed         string          // how the peers were lost for the first time
	skipped        string          // what the first checkpoint that was not tried could not have held
}

// New returns a driver with an empty cache. It ends with the context. No peers are started: a
// search that is answered from a cache needs none. Starting them waits for the first miss.
func New(ctx context.Context, c Config) *Driver {
	cache := NewCache()
	d := &Driver{
		ctx: ctx, config: c, spec: c.Spec, scope: c.Scope,
		cache: cache, naming: naming{scope: c.Scope, cache: cache, numbers: map[string]int{}},
		origin:    map[iocache.NodeID]string{},
		cost:      costModel{guess: c.Guess},
		found:     findings{reads: shim.Summary{}, uninstrumented: map[string]bool{}},
		addresses: addressUse{},
	}
	if c.Shared > 0 {
		d.journal = &journal{most: c.Shared}
		d.OnRecord(func(e iocache.Entry) { _ = d.journal.add(e) }) // who asks is told of an error
	}
	return d
}

// NewSession returns a session that counts its work. Rewind begins the first execution. Its waits
// on peers end with the context of the driver, unless EndWith says otherwise.
func (d *Driver) NewSession(counts *Counts) *Session {
	return &Session{d: d, Counts: counts, ctx: d.ctx}
}

// Mirror begins to follow an execution that others answer. It is used for audits. The mirror has a
// cursor of its own and shares the driver's lock.
func (d *Driver) Mirror() *Mirror {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Mirror{&d.mu, d.cache.Cursor(d.scope)}
}

// Adopt has the driver begin with answers that others have got. Why says where they are from, and
// all goes through them in the order in which they were recorded. It is to be called before the
// first execution. The images of the cache belong to groups that have ended, so they are forgotten.
func (d *Driver) Adopt(cache *iocache.Cache, why string, all func(func(iocache.Entry) error) error) {
	cache.ForgetImages() // of groups that have ended
	d.cache, d.naming.cache, d.earlier = cache, cache, why
	if d.journal != nil {
		d.journal.takeOver(all)
	}
}

// OnRecord has f told of every answer that is recorded. f is called with the driver's lock held, so
// it must not call the driver.
func (d *Driver) OnRecord(f func(iocache.Entry)) { d.record = append(d.record, f) }

// Spec is which peers there are, and what their answers may depend on.
func (d *Driver) Spec() (peers.Group, iocache.Scope) { return d.spec, d.scope }

// Cache is where the answers are. Only one goroutine may use it, while no session is in use.
func (d *Driver) Cache() *iocache.Cache { return d.cache }

// Snapshot shows the cache as iocache.SnapshotOf does, with the exchange that led to each place.
// Where no input did, it is empty. Exchanges share memory with the cache, and must not be modified.
// It waits for an exchange that is under way. The error is one of reading answers that were put on
// disk.
func (d *Driver) Snapshot(v iocache.View) (*iocache.Snapshot, []Exchange, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := iocache.SnapshotOf(d.cache, v)
	if err != nil {
		return nil, nil, err
	}
	exchanges := make([]Exchange, len(s.Places))
	// Narration takes exchanges, so each place gets one, as if it had just been given.
	for i, p := range s.Places {
		x := &exchanges[i]
		x.Input, x.Place = p.Input, p.Node
		x.Answer = model.Answer{Reaction: p.Reaction, Conn: p.Input.Conn}
		x.Answer.First = p.Connections - len(p.Reaction.Opened)
		namePeers(d.spec.Peers, x)
	}
	return s, exchanges, nil
}

// Standing is where the group that was needed last stands; nil: nowhere. Tests compare it with what
// a strategy was told.
func (d *Driver) Standing() iocache.Position {
	if len(d.groups) == 0 {
		return nil
	}
	return d.groups[0].at
}

// Alive returns an error if a process of the group that was needed last has died. A group that was
// killed is brought back when it is needed. While somebody asks the peers, it does not look. It is
// called from time to time, so that a crash of a peer ends the check even if all answers are
// cached. A driver that is nil has no peers.
func (d *Driver) Alive() error {
	// Who asks the peers would find out that they have died.
	if d == nil || !d.mu.TryLock() {
		return nil
	}
	defer d.mu.Unlock()
	if len(d.groups) == 0 || d.groups[0].group == nil {
		return nil
	}
	if err := d.groups[0].group.Check(); !wereKilled(err) {
		return err
	}
	return nil
}

// Known is what has been found out about the peers, beside their answers: what they have read of
// the time and of random numbers, and which of their processes read what nobody knows. Both lists
// are in no particular order. A saved run keeps them.
func (d *Driver) Known() (reads []shim.Read, uninstrumented []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for source, calls := range d.found.reads {
		reads = append(reads, shim.Read{Peer: source[0], Source: source[1], Calls: calls})
	}
	return reads, slices.Collect(maps.Keys(d.found.uninstrumented))
}

// Recall takes over what Known has returned in an earlier process. It is called before the search
// begins, so it takes no lock.
func (d *Driver) Recall(reads []shim.Read, uninstrumented []string) {
	d.found.reads.Add(reads)
	for _, process := range uninstrumented {
		d.found.uninstrumented[process] = true
	}
}

// Report is what is known of the peers when a search has ended, in words.
type Report struct {
	Reads          string   // of the time and of random numbers
	Uninstrumented []string // processes of which nobody knows what they read
	Refusal        string   // why the memory backend does not hold the group
	Unstored       string   // why the first checkpoint that is missing could not be stored
	Skipped        string   // what the first checkpoint that was not tried could not have held
	Killed         string   // how the peers were lost for the first time
	Unused         []string // peers that had no part in any execution, a line each
	Crowded        Crowding // of the cache, or of that which took most
}

// And is what is known of peers that two drivers have, each by itself: the first that is said.
func (r Report) And(other Report) Report {
	all := slices.Concat(r.Uninstrumented, other.Uninstrumented)
	return Report{Reads: cmp.Or(r.Reads, other.Reads), Refusal: cmp.Or(r.Refusal, other.Refusal),
		Unstored: cmp.Or(r.Unstored, other.Unstored), Skipped: cmp.Or(r.Skipped, other.Skipped),
		Killed:         cmp.Or(r.Killed, other.Killed),
		Uninstrumented: slices.Compact(slices.Sorted(slices.Values(all))),
		Unused: slices.DeleteFunc(slices.Clone(r.Unused), func(line string) bool {
			return !slices.Contains(other.Unused, line)
		}),
		Crowded: r.Crowded.and(other.Crowded)}
}

// Report returns what is known of the peers. It may be called while the search runs. Its texts are
// then those of the moment.
func (d *Driver) Report() Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &d.found
	return Report{
		Reads: f.reads.String(), Uninstrumented: slices.Sorted(maps.Keys(f.uninstrumented)),
		Refusal:  f.refusal,
		Unstored: f.unstored, Skipped: f.skipped, Killed: f.killed, Unused: d.addresses.unused(d.spec.Peers),
		Crowded: crowding(d.cache),
	}
}

// Behaviours is how many ways the peers can behave in.
func (d *Driver) Behaviours() int { return d.spec.Behaviours() }

// Close ends the groups. All groups are ended, even if one cannot be. The errors are joined.
func (d *Driver) Close() error {
	var errs []error
	for _, g := range d.groups {
		errs = append(errs, g.close())
	}
	if d.journal != nil {
		errs = append(errs, d.journal.close())
	}
	return errors.Join(errs...)
}

// maxGroups is how many groups run at a time: one for each of the behaviours that were needed last.
// With a group, its checkpoints go.
const maxGroups = 32

// selectVariant makes the group current that behaves as it was chosen, and returns it. A group is
// created here without processes: those start when the cursor is sought. The caller holds mu.
func (d *Driver) selectVariant(behaviour int) (*groupState, error) {
	// The list is in the order of last use, like that of an LRU cache.
	i := slices.IndexFunc(d.groups, func(g *groupState) bool { return g.behaviour == behaviour })
	var g *groupState
	switch {
	case i == 0:
		return d.groups[0], nil
	case i > 0:
		g = d.groups[i]
		d.groups = slices.Delete(d.groups, i, i+1)
	default:
		g = &groupState{behaviour: behaviour, sockets: map[int]*socket{}}
	}
	d.groups = slices.Insert(d.groups, 0, g)
	if len(d.groups) <= maxGroups {
		return g, nil
	}
	// Its images go with it. The cache finds out when a restore asks for one.
	oldest := d.groups[maxGroups]
	d.groups = d.groups[:maxGroups]
	return g, oldest.close()
}

// names are those of the peers in a group.
func (d *Driver) names() string {
	names := make([]string, len(d.spec.Peers))
	for i, peer := range d.spec.Peers {
		names[i] = peer.Name
	}
	return strings.Join(names, ", ")
}

// noteKilled has a group brought back when it is needed. The first reasons are kept, since later
// ones often follow from them. The counters are the session's.
func (d *Driver) noteKilled(g *groupState, err error) {
	d.found.killed = cmp.Or(d.found.killed, err.Error())
	g.lost = cmp.Or(g.lost, err.Error())
	g.leave()
}
