package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/strategy"
)

// peerSide answers for the other side of the program's connections: from the
// cache where it can, and otherwise by having the peers stand where the cursor
// is and giving them the input.
type peerSide struct {
	ctx      context.Context
	client   *ckptd.Client
	spec     peers.Group
	strategy strategy.Strategy
	scope    iocache.Scope
	record   []func(iocache.Entry) // told of every answer that is recorded
	patience time.Duration         // for timers of peers that have the machine's clock
	earlier  string                // why the cache has what other processes have answered; empty: it has not

	mu        sync.Mutex // guards what follows
	cache     *iocache.Cache
	numbers   map[string]int  // of the sockets of connections that have names
	reads     shim.Summary    // of the time and of random numbers, by the peers, after inputs
	blind     map[string]bool // processes of which nobody knows what they read
	last      ckptd.Reads     // after the last input
	spent     expense
	refusal   string                    // why the memory backend does not hold the group
	unstored  string                    // why the first checkpoint that is missing could not be stored
	room      int64                     // how much memory checkpoints may take, in bytes
	crowded   bool                      // checkpoints were dropped or not stored since there was no more
	killed    string                    // how the peers were lost for the first time
	skipped   string                    // what the first checkpoint that was not tried could not have held
	*standing                           // of the group that behaves as it is needed now
	standings []behaving                // of all groups, that first
	moved     string                    // how the group was brought back, until the next answer is recorded
	origin    map[iocache.NodeID]string // for each answer that followed a restore, how
	outputs   outputLog
	dealings  map[dealing]bool
	hurried   bool // timers of the peers may end too early: see maxDisturbed
}

// conversation is the peers' side of the executions of one executor. All share the cache,
// and the group, which is asked by one at a time.
type conversation struct {
	*peerSide
	counts *Counts

	// The present execution.
	cursor      *iocache.Cursor
	started     iocache.NodeID   // where a group is that was started to behave as it was chosen
	connections []string         // their names
	behaviour   int              // of the peers, from 0 on
	clients     int              // among the peers, that have not ended
	hits        []bool           // for each input, whether the cache answered it
	watch       func(exchange)   // told of every exchange, for counterexamples
	forecast    float64          // of executions that go the way of this one to where the search went on
	listened    iocache.Position // up to where that was told what the peers wrote; nil: not at all
}

// socket is the checker's descriptor of a connection into the group.
type socket struct {
	fd      int
	kind    proxy.Address // what it was opened with; of one that a peer has opened, the network
	ended   bool          // the peer's stream has ended
	shut    bool          // nothing can be sent any more: the program has shut it down, or it was reset
	broken  bool          // what was sent met a reset: what the peer sent before may still be there, and then the stream ends with the reset
	listens bool          // it is a listener
}

// exchange is an input with its answer, as a counterexample shows it.
type exchange struct {
	input    model.Input
	answer   model.Answer
	cached   bool
	restored string
	ended    []end  // clients that have, now
	timerOf  string // the peer whose timer answer.Time.Due is of
	// What the peers wrote on the way here, and whether that is all.
	wrote []written
	heard bool
}

func newPeerSide(ctx context.Context, client *ckptd.Client, spec peers.Group, s strategy.Strategy) *peerSide {
	return &peerSide{
		ctx: ctx, client: client, spec: spec, strategy: s,
		patience: watch.DefaultPatience,
		cache:    newCache(), numbers: map[string]int{}, origin: map[iocache.NodeID]string{},
		reads: shim.Summary{}, blind: map[string]bool{}, dealings: map[dealing]bool{},
	}
}

// rewind puts the cursor back to the start, for a new execution.
func (p *conversation) rewind() {
	if p.cursor == nil {
		p.cursor = p.cache.Cursor(p.scope)
	}
	p.cursor.Rewind()
	p.started, p.connections = iocache.Root, p.connections[:0]
	p.hits, p.clients = p.hits[:0], p.spec.Clients()
	p.listened = nil
}

// Exchange implements sut.Peers.
func (p *conversation) Exchange(in model.Input) (a model.Answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.Opens() && len(p.connections) == 0 {
		if err := p.choose(in.Behaviour); err != nil {
			return model.Answer{}, err
		}
	}
	input := p.numbered(in)
	served, rest, hit, err := p.cursor.Lookup(input)
	if err != nil {
		return model.Answer{}, err
	}
	p.hits = append(p.hits, hit)
	if !hit {
		p.counts.Misses++
		reaction, err := p.ask(rest)
		if err != nil {
			return model.Answer{}, err
		}
		served = join(served, reaction)
	} else {
		p.counts.Hits++
	}
	x := exchange{input: input, restored: p.origin[p.cursor.Node()]}
	x.answer = model.Answer{Reaction: served, Conn: input.Conn}
	p.noteClients(&x)
	if p.watch != nil {
		x.input.Data = slices.Clone(input.Data)
		p.noteOutput(&x)
		p.watch(x)
	}
	return x.answer, nil
}

// numbered is an input with the number of its connection. In group scope connections have no names.
func (p *conversation) numbered(in model.Input) model.Input {
	if p.scope == iocache.Group {
		in.Name = ""
	}
	if in.Opens() {
		in.Conn = len(p.connections)
		p.connections = append(p.connections, in.Name)
		p.noteDealing(in)
	}
	return in
}

// ask gives the peers an input that the cache has no answer to.
func (p *conversation) ask(in model.Input) (model.Reaction, error) {
	in.Data = slices.Clone(in.Data) // an error keeps it, and the worker's memory may be gone by then
	if err := p.behave(p.behaviour); err != nil {
		return model.Reaction{}, err
	}
	reaction, err := p.answer(in)
	if err == nil {
		err = p.remember(in, reaction)
	}
	if err != nil {
		// The group may have been given what is not in the cache: nobody may go on from where it stands.
		p.dropSockets()
		p.at = nil
		return reaction, err
	}
	p.hear(p.cursor.Node())
	p.at = slices.Clone(p.cursor.At())
	if p.moved != "" {
		p.origin[p.cursor.Node()] = p.moved
		p.moved = ""
	}
	return reaction, p.checkpoint(in, reaction)
}

// remember records an answer and moves the cursor behind it.
func (p *conversation) remember(in model.Input, reaction model.Reaction) error {
	entry, err := p.cursor.Record(in, reaction)
	if err != nil {
		return err
	}
	for _, record := range p.record {
		record(entry)
	}
	return nil
}

// checkpoint takes a physical checkpoint if the strategy asks for one.
func (p *conversation) checkpoint(in model.Input, r model.Reaction) error {
	p.spent.inputs++
	step := strategy.Step{Kind: strategyKinds[in.Kind]}
	step.Answered = r.Refused != 0 || len(r.Deliveries)+len(r.Opened)+len(r.Ended) > 0
	for _, d := range r.Deliveries {
		step.ResponseBytes += len(d.Data)
	}
	return p.consult(step, p.last)
}

// consult takes a checkpoint if the strategy asks for one where the group stands.
func (p *conversation) consult(step strategy.Step, reads ckptd.Reads) error {
	step.Depth = p.depth(p.at)
	step.SincePhysical = step.Depth
	from, _, saved := p.cache.Nearest(p.at)
	if !saved {
		from = iocache.Position{p.started}
	} else if step.SincePhysical, _ = p.cache.Distance(from, p.at); step.SincePhysical == 0 && step.Kind != strategy.Start {
		return nil // the place was known; only the way to it was not
	}
	for _, read := range reads.Counted {
		if !read.Chosen {
			step.Reads += read.Calls
		}
	}
	step.Blind = len(reads.Blind) > 0
	p.spent.describe(&step, p.cache.MissingKinds(from, p.at), p.cache.Stats().Images)
	if !p.strategy.Checkpoint(step) {
		return nil
	}
	return p.save()
}

func (p *conversation) save() error {
	started := time.Now()
	image, err := p.group.Checkpoint(p.ctx)
	switch {
	case errors.Is(err, ckptd.ErrUnsavable):
		p.counts.Skipped++
		p.skipped = cmp.Or(p.skipped, err.Error())
		return nil
	case errors.Is(err, ckptd.ErrNotStored) || wereKilled(err):
		p.goOnWithout(err)
		return nil
	}
	if err != nil {
		return err
	}
	p.spent.saves.since(started)
	p.cache.SetImage(p.at, image.ID)
	p.counts.Checkpoints++
	if image.Backend == ckptd.BackendMemory {
		p.counts.InMemory++
	}
	p.refusal = cmp.Or(p.refusal, image.Refusal)
	p.counts.CheckpointTime += time.Since(started)
	p.counts.ImageBytes += image.Bytes
	p.counts.MadeRoom += len(image.Dropped)
	p.crowded = p.crowded || len(image.Dropped) > 0
	return nil
}

var strategyKinds = map[model.Kind]strategy.Kind{
	model.Connect: strategy.Connect, model.Listen: strategy.Connect, model.Send: strategy.Send,
	model.Shutdown: strategy.Shutdown, model.Close: strategy.Close,
	model.Pass: strategy.Pass,
}

// comeBack brings the group to where the search goes on. If that took inputs, a checkpoint there may
// save them the next time.
func (p *conversation) comeBack(to iocache.Position) error {
	given := p.counts.Replayed
	if err := p.stand(to); err != nil || p.counts.Replayed == given {
		return err
	}
	if err := p.consult(strategy.Step{Kind: strategy.Return, Forecast: p.forecast}, ckptd.Reads{}); err != nil || p.at != nil {
		return err
	}
	return p.stand(to) // the attempt was the end of the group
}

// stand brings the group to a place in the cache: it is there, or can go on to
// there, or has to be taken back.
func (p *conversation) stand(to iocache.Position) error {
	if err := p.approach(to); err != nil {
		return err
	}
	steps, err := p.cache.Missing(p.at, to)
	if err != nil {
		return err
	}
	if p.moved != "" && len(steps) > 0 {
		p.moved += fmt.Sprintf(", and given %s again", count(len(steps), "input"))
	}
	for _, s := range steps {
		got, err := p.repeat(s)
		if err != nil {
			return p.lastWords(err)
		}
		p.hear(s.Node)
		if err := p.cache.Compare(s, got); err != nil {
			err = p.withReads(err)
			switch {
			case p.earlier != "":
				err = answeredEarlier(err, p.earlier)
			case p.crowded && (p.lost != "" || p.unstored != ""):
				err = p.withoutRoom(err)
			case p.lost != "" || p.unstored != "":
				err = answeredAnew(err, cmp.Or(p.lost, p.unstored))
			case p.skipped != "":
				err = answeredUnsaved(err, p.skipped)
			}
			return err
		}
		p.at = p.cache.After(p.at, s.Node)
		p.counts.Replayed++
	}
	return nil
}

// approach brings the group to where it can be brought at once and from where the
// fewest inputs are missing: it stays, is restored, or starts anew.
func (p *conversation) approach(to iocache.Position) error {
	if err := p.lookForLate(); err != nil {
		return err
	}
	for {
		far, above := 0, false
		if p.group != nil && p.at != nil {
			far, above = p.cache.Distance(p.at, to)
		}
		if above && far == 0 {
			return nil
		}
		at, image, ok := p.cache.Nearest(to)
		if above && ok {
			nearest, _ := p.cache.Distance(at, to)
			above = far <= nearest
		}
		if above {
			return nil
		}
		if !ok || p.group == nil {
			return p.restart()
		}
		err := p.restore(at, image)
		if !errors.Is(err, ckptd.ErrImageGone) {
			return err
		}
		p.cache.DropImage(at) // the store needed its room, or it was damaged, or has ended with the proxy
		p.lost = cmp.Or(p.lost, err.Error())
	}
}

// restart starts the group from nothing.
func (p *conversation) restart() error {
	reads, err := p.start()
	if err == nil {
		err = p.consult(strategy.Step{Kind: strategy.Start}, reads)
	}
	if err == nil && p.at == nil { // the attempt to save it was its end
		_, err = p.start()
	}
	return err
}

// start starts the group from nothing, and tells what it has read until it was ready.
func (p *conversation) start() (reads ckptd.Reads, err error) {
	p.dropSockets()
	if p.group != nil {
		if err := p.group.Close(); err != nil {
			return reads, err
		}
		p.group = nil
		p.counts.Restarts++
		p.spent.returns++
		p.moved = p.names() + " started anew"
	}
	if p.client == nil {
		return reads, errNoPeers
	}
	started := time.Now()
	group, err := p.client.Start(p.ctx, p.spec.Behaving(p.behaviour))
	if err != nil {
		return reads, err
	}
	p.spent.starts.since(started)
	p.group, p.at = group, iocache.Position{p.started}
	p.hear(p.started)
	if reads, err = group.Reads(); err != nil {
		return reads, err
	}
	for _, b := range reads.Blind {
		if b.Chosen {
			return reads, fmt.Errorf("how %s behaves cannot be chosen (choices, clock): what %v reads of the time and of random numbers is not under control", b.Peer, b)
		}
	}
	return reads, nil
}

var errNoPeers = errors.New("the program opens a connection, but no peers are configured: name them under peers: in the configuration")

func (p *conversation) restore(at iocache.Position, image string) error {
	p.dropSockets()
	started := time.Now()
	p.at = nil
	if err := p.group.Restore(p.ctx, image); err != nil {
		return err
	}
	p.counts.Restores++
	p.spent.returns++
	p.counts.RestoreTime += time.Since(started)
	p.at = at
	p.moved = fmt.Sprintf("%s restored from the checkpoint after %s", p.names(), count(p.depth(at), "input"))
	h, err := p.pastOf(at)
	if err != nil {
		return err
	}
	for number, listens := range h.open {
		fd, err := p.group.Proxy().CreateSocket(p.ctx, proxy.ID(number)) // it is there
		if err != nil {
			return err
		}
		p.sockets[number] = &socket{fd: fd, kind: h.kinds[number], ended: h.finished[number], shut: h.shut[number], listens: listens}
	}
	_, err = p.group.Reads() // before the next input
	return err
}

// withReads adds to an error of peers that answered differently what may be why.
func (p *peerSide) withReads(err error) error {
	if len(p.reads) > 0 {
		err = fmt.Errorf("%w\n  So far they have read the time or random numbers: %s", err, p.reads)
	}
	if len(p.blind) > 0 {
		err = fmt.Errorf("%w\n  It is not known what these read of the time and of random numbers: %s", err, strings.Join(slices.Sorted(maps.Keys(p.blind)), ", "))
	}
	return err
}

// noteReads finds out what the peers have read since the last input.
func (p *conversation) noteReads() (err error) {
	if p.last, err = p.group.Reads(); err != nil {
		return err
	}
	p.reads.Add(p.last.Counted)
	if len(p.last.Counted) > 0 {
		p.counts.ReadInputs++
	}
	for _, b := range p.last.Blind {
		p.blind[b.String()] = true
	}
	return nil
}

// names are those of the peers in the group.
func (p *peerSide) names() string {
	names := make([]string, len(p.spec.Peers))
	for i, peer := range p.spec.Peers {
		names[i] = peer.Name
	}
	return strings.Join(names, ", ")
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// close ends the groups.
func (p *peerSide) close() error {
	var errs []error
	for _, s := range p.standings {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
