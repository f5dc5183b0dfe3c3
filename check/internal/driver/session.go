package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
)

// Counts says how much work with the peers was done. Each field is a sum, so counts of several
// sessions can be added.
type Counts struct {
	Hits, Misses int // inputs that the cache answered, or could not
	Checkpoints  int
	InMemory     int // of the checkpoints: those that CRIU was not needed for
	Unstored     int // checkpoints that could not be kept
	MadeRoom     int // checkpoints that were dropped for others
	Skipped      int // checkpoints that were not tried, since something waited that they cannot hold
	// Disturbed is how often a timer of the peers ended too early, and they were brought back and
	// given an input again.
	Disturbed      int
	Killed         int // how often the peers were lost, as if they had been killed, and brought back
	Restores       int
	Restarts       int // of the peers, from nothing
	Replayed       int // inputs given again after a restore or restart
	Waits, Cuts    int // for the peers to be quiescent; looks at all of their threads that it took
	ReadInputs     int // inputs after which the peers have read the time or random numbers
	ImageBytes     int64
	CheckpointTime time.Duration
	RestoreTime    time.Duration
	CutTime        time.Duration
}

// Add adds what another session, or another execution, has counted.
func (c *Counts) Add(other Counts) {
	c.Hits += other.Hits
	c.Misses += other.Misses
	c.Checkpoints += other.Checkpoints
	c.InMemory += other.InMemory
	c.Unstored += other.Unstored
	c.Skipped += other.Skipped
	c.MadeRoom += other.MadeRoom
	c.Killed += other.Killed
	c.Disturbed += other.Disturbed
	c.Restores += other.Restores
	c.Restarts += other.Restarts
	c.Replayed += other.Replayed
	c.ReadInputs += other.ReadInputs
	c.ImageBytes += other.ImageBytes
	c.CheckpointTime += other.CheckpointTime
	c.RestoreTime += other.RestoreTime
	c.Waits += other.Waits
	c.Cuts += other.Cuts
	c.CutTime += other.CutTime
}

// note adds what it has taken to find the peers quiescent. The effort is reset by who reads it, so
// that it is added once.
func (c *Counts) note(e watch.Effort) {
	c.Waits += e.Waits
	c.Cuts += e.Cuts
	c.CutTime += e.Time
}

// Exchange is an input with its answer, as a counterexample shows it. Data is a copy, so an
// exchange may be kept.
type Exchange struct {
	Input    model.Input
	Place    iocache.NodeID // of the cache, where the input led to, or an earlier one; 0: not known
	Answer   model.Answer
	Cached   bool
	Restored string // how the group was brought back before it gave the answer; empty: it was not
	Ended    []End  // clients that have, now
	TimerOf  string // the peer whose timer Answer.Time.Due is of
	// Wrote is what the peers wrote on the way here, and Heard whether that is all.
	Wrote []Written
	Heard bool
}

// End is the end of a client. The status is that of wait(2).
type End struct {
	Peer   string
	Status unix.WaitStatus
}

// Session is the peers' side of the executions of one executor. All sessions of a driver share the
// cache, and the groups, of which one at a time is asked. Only one goroutine may use a session.
type Session struct {
	d      *Driver
	Counts *Counts
	ctx    context.Context // ends waits on peers

	// The present execution.
	cursor      *iocache.Cursor
	started     iocache.NodeID   // where a group is that was started to behave as it was chosen
	connections []string         // their names
	behaviour   int              // of the peers, from 0 on
	clients     int              // among the peers, that have not ended
	hits        []bool           // for each input, whether the cache answered it
	watch       func(Exchange)   // told of every exchange; nil: nobody is
	disturbed   int              // how often this answer was begun again, because of timers of the peers
	forecast    float64          // of executions that go the way of this one to where the search went on
	listened    iocache.Position // up to where watch was told what the peers wrote; nil: not at all
}

// Rewind puts the cursor back to the start, for a new execution. It does not touch the peers. They
// are brought along at the next miss.
func (s *Session) Rewind() {
	// The cursor is made late, since the cache may have been adopted after the session was made.
	if s.cursor == nil {
		s.cursor = s.d.cache.Cursor(s.d.scope)
	}
	s.cursor.Rewind()
	s.started, s.connections = iocache.Root, s.connections[:0]
	s.hits, s.clients = s.hits[:0], s.d.spec.Clients()
	s.listened = nil
}

// EndWith has the waits of the session on peers end with a context, which has to end with that of
// the driver. The context is kept, since inputs come from workers that have none.
func (s *Session) EndWith(ctx context.Context) { s.ctx = ctx }

// Watch has f told of every exchange from now on; nil: nobody is. The exchanges are passed in their
// order, from the goroutine of the worker, with the driver's lock held.
func (s *Session) Watch(f func(Exchange)) { s.watch = f }

// Expect says how many executions are expected to go on where this one does. The strategy weighs it
// when the peers have come back for this execution.
func (s *Session) Expect(executions float64) { s.forecast = executions }

// Hits says for each input of the execution so far whether the cache answered it. It is valid until
// the next Rewind.
func (s *Session) Hits() []bool { return s.hits }

// Connections is how many connections and listeners the execution has had.
func (s *Session) Connections() int { return len(s.connections) }

// At is where the execution stands, and Behaviour how its peers behave.
func (s *Session) At() (at iocache.Position, behaviour int) { return s.cursor.At(), s.behaviour }

// Exchange implements sut.Peers. It holds the driver's lock for the whole exchange, so one session
// at a time asks the peers. An error ends the execution.
func (s *Session) Exchange(in model.Input) (model.Answer, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	// The behaviour is chosen with the first connection. Before it, all behaviours are the same to
	// the program.
	if in.Opens() && len(s.connections) == 0 {
		if err := s.choose(in.Behaviour); err != nil {
			return model.Answer{}, err
		}
	}
	input := s.numbered(in)
	served, hit, err := s.find(input)
	if err != nil {
		return model.Answer{}, err
	}
	if s.hits = append(s.hits, hit); hit {
		s.Counts.Hits++
	}
	// The origin is recorded with the answer, so a later hit can still name it.
	x := Exchange{Input: input, Place: s.cursor.Node(), Restored: s.d.origin[s.cursor.Node()]}
	x.Answer = model.Answer{Reaction: served, Conn: input.Conn}
	s.noteClients(&x)
	if s.watch != nil {
		x.Input.Data = slices.Clone(input.Data)
		s.noteOutput(&x)
		s.watch(x)
	}
	return x.Answer, nil
}

// find finds the answer to an input in the cache, or has the peers give it. Hit is whether the
// cache has known it, here or where the peers are. A miss is counted where the peers are. The
// caller holds mu.
func (s *Session) find(in model.Input) (served model.Reaction, hit bool, err error) {
	// The cache may know the beginning of what is sent. Only the rest is given to the peers.
	served, rest, hit, err := s.cursor.Lookup(in)
	switch {
	case err != nil || hit:
		return served, hit, err
	case s.d.elsewhere != nil:
		return s.d.elsewhere.find(s, served, rest)
	case in.Kind == model.Choose: // no process is told
		_, err = s.remember(in, model.Reaction{})
		return served, false, err
	}
	s.Counts.Misses++
	reaction, err := s.query(rest)
	// What the cache has served so far comes before what the peers add.
	return join(served, reaction), false, err
}

// choose notes how the peers behave in the present execution. The choice is a node of the cache
// like an input.
func (s *Session) choose(behaviour int) error {
	s.behaviour = behaviour
	if s.d.Behaviours() <= 1 {
		return nil
	}
	if _, _, err := s.find(model.Input{Kind: model.Choose, Conn: behaviour}); err != nil {
		return err
	}
	s.started = s.cursor.Node()
	return nil
}

// numbered is an input with the number of its connection. In group scope connections have no names.
// An input that opens something adds to the session's list. The caller holds mu.
func (s *Session) numbered(in model.Input) model.Input {
	if s.d.scope == iocache.Group {
		in.Name = ""
	}
	if in.Opens() {
		in.Conn = len(s.connections)
		s.connections = append(s.connections, in.Name)
		s.d.addresses.note(in)
	}
	return in
}

// query gives the peers an input that the cache has no answer to. It brings the group there,
// records the answer, and may take a checkpoint. After an error the group stands nowhere.
func (s *Session) query(in model.Input) (model.Reaction, error) {
	// The wait for the lock may have been long.
	if err := context.Cause(s.ctx); err != nil {
		return model.Reaction{}, err
	}
	in.Data = slices.Clone(in.Data) // an error keeps it, and the worker's memory may be gone by then
	g, err := s.d.selectVariant(s.behaviour)
	if err != nil {
		return model.Reaction{}, err
	}
	// A node with a higher number than these is a new one.
	places := s.d.cache.Stats().Nodes
	reaction, err := s.answer(g, in)
	var entry iocache.Entry
	if err == nil {
		entry, err = s.remember(in, reaction)
	}
	if err != nil {
		g.leave() // the group may have been given what is not in the cache
		return reaction, err
	}
	node := s.cursor.Node()
	s.d.recordOutput(g, node)
	step := iocache.Step{Input: entry.Input, Reaction: entry.Reaction, Node: node}
	name := s.nameOf(in)
	g.history.add(step, s.d.scope, func(connection int) int {
		if connection > 0 && s.d.scope == iocache.Connection { // the peers have opened it
			return s.d.naming.number(s.d.naming.opened(name, connection-1), 0)
		}
		return s.d.naming.number(name, connection)
	})
	g.advance(s.cursor.At(), in.Kind, int(node) >= places)
	if s.d.restored != "" {
		s.d.origin[node] = s.d.restored
		s.d.restored = ""
	}
	return reaction, s.checkpoint(g, in, reaction)
}

// nameOf is the name of the connection of an input; in group scope connections have none.
func (s *Session) nameOf(in model.Input) string {
	if in.Conn < len(s.connections) {
		return s.connections[in.Conn]
	}
	return ""
}

// answer brings the group to where the search goes on, and gives it an input. It tries again when
// the peers were killed, at most MaxAttempts times, and when their timers ended too early (see
// maxDisturbed). The error of the last attempt has the output and the inputs.
func (s *Session) answer(g *groupState, in model.Input) (reaction model.Reaction, err error) {
	s.disturbed = 0
	for attempt := 1; ; {
		if err = s.seekWithCheckpoint(g, s.cursor.At()); err == nil {
			if reaction, err = s.give(g, in); err == nil {
				return reaction, nil
			}
			err = s.d.withCrashOutput(g, err)
		}
		if errors.Is(err, errDisturbed) && s.ctx.Err() == nil {
			s.Counts.Disturbed++
			s.disturbed++
			g.leave()
			continue
		}
		if !wereKilled(err) || attempt == MaxAttempts || s.ctx.Err() != nil {
			return reaction, s.d.withInputs(g, err, in)
		}
		// The next attempt restores the group, or starts it anew.
		s.Counts.Killed++
		s.d.noteKilled(g, err)
		attempt++
	}
}

// give gives the group an input of the present execution. The numbers of the connections are
// translated to sockets before, and back after.
func (s *Session) give(g *groupState, in model.Input) (model.Reaction, error) {
	name := s.nameOf(in)
	in.Conn = s.d.naming.number(name, in.Conn)
	r, err := s.perform(g, in, maxDisturbed)
	if err != nil || s.d.scope == iocache.Group {
		return r, err
	}
	s.d.naming.renumber(&r, s.d.naming.withOpened(s.connections, in, r))
	return r, nil
}

// perform does an input to the group and waits until it has reacted. Connections are those of the
// group's sockets. The reaction is complete once no peer runs and no socket has data. A peer that
// stays busy beyond quiescenceLimit is an error. A timer that ended too early is
// errDisturbed, unless the answer was begun again most times already.
func (s *Session) perform(g *groupState, in model.Input, most int) (model.Reaction, error) {
	d := s.d
	defer d.cost.gave(in.Kind, time.Now())
	r := newReaction(s, g)
	r.listens = in.Kind == model.Listen
	if err := r.give(in); err != nil {
		return model.Reaction{}, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, quiescenceLimit)
	defer cancel()
	// The wait is also for where a connection was refused: who should have accepted it may be
	// dying.
	err := g.group.Quiesce(ctx, r.drain)
	if err == nil && r.refused == 0 {
		err = r.startClients(ctx, in)
	}
	// Clients may have ended because of the input.
	if err == nil && d.spec.Clients() > 0 {
		err = r.noteEnded()
	}
	// A peer that has ended did something, so the time was not idle.
	if in.Kind == model.Pass && len(r.ended) > 0 {
		r.time.Idle = false
	}
	s.Counts.note(g.group.ResetEffort())
	if errors.Is(err, context.DeadlineExceeded) && s.ctx.Err() == nil {
		err = fmt.Errorf("%w, within %v: peers must wait for input once they have answered; see "+
			"docs/guide/peers.md#when-a-peer-has-answered", err, quiescenceLimit)
	}
	if disturbed := g.group.TakeDisturbed(); err == nil && disturbed && s.disturbed < most {
		err = errDisturbed
	}
	if err != nil {
		return model.Reaction{}, err
	}
	// The reads are kept with the group, since the strategy asks about them after this.
	g.reads, err = g.group.Reads()
	if err == nil {
		s.noteReads(g)
	}
	return r.result(), err
}

// noteReads notes what the peers have read since the last input. They are totals for the report.
func (s *Session) noteReads(g *groupState) {
	found := &s.d.found
	found.reads.Add(g.reads.Counted)
	if len(g.reads.Counted) > 0 {
		s.Counts.ReadInputs++
	}
	for _, b := range g.reads.Uninstrumented {
		found.uninstrumented[b.String()] = true
	}
}

// remember records an answer and moves the cursor behind it. The functions of OnRecord are told in
// the order in which they were added.
func (s *Session) remember(in model.Input, reaction model.Reaction) (iocache.Entry, error) {
	entry, err := s.cursor.Record(in, reaction)
	if err != nil {
		return entry, err
	}
	for _, record := range s.d.record {
		record(entry)
	}
	return entry, nil
}

// noteClients says in an exchange what the clients have done. It numbers the connections that
// clients have opened, and adds the ends of clients.
func (s *Session) noteClients(x *Exchange) {
	x.Answer.First = len(s.connections)
	for k := range x.Answer.Opened {
		s.connections = append(s.connections, s.d.naming.opened(x.Input.Name, k))
	}
	s.clients -= len(x.Answer.Ended)
	x.Answer.Clients = s.clients
	namePeers(s.d.spec.Peers, x)
	for _, e := range x.Answer.Ended {
		// Of several clients that failed, the first decides.
		if x.Answer.Failure == "" {
			x.Answer.Failure = s.d.spec.Peers[e.Peer].Contradicts(unix.WaitStatus(e.Status))
		}
	}
}

// namePeers names the peers that an answer tells of. Answers have their numbers in the group.
func namePeers(group []peers.Peer, x *Exchange) {
	if t := x.Answer.Time; t.Due > 0 && t.Peer < len(group) {
		x.TimerOf = group[t.Peer].Name
	}
	for _, e := range x.Answer.Ended {
		x.Ended = append(x.Ended, End{group[e.Peer].Name, unix.WaitStatus(e.Status)})
	}
}

// noteOutput adds to an exchange what the peers wrote since the last one of the execution. An
// incomplete list is marked in the exchange, so that a report does not claim that a peer was
// silent.
func (s *Session) noteOutput(x *Exchange) {
	x.Wrote, x.Heard = s.d.heard(s.listened, s.cursor.At())
	s.listened = slices.Clone(s.cursor.At())
}

// join appends one reaction to another. Refused and Time are those of the second, which ends the
// exchange.
func join(a, b model.Reaction) model.Reaction {
	return model.Reaction{
		Refused: b.Refused, Opened: slices.Concat(a.Opened, b.Opened),
		Deliveries: slices.Concat(a.Deliveries, b.Deliveries), Ended: slices.Concat(a.Ended, b.Ended),
		Time: b.Time,
	}
}
