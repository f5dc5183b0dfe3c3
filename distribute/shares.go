package distribute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Shares leads a run whose parts know of each other, and go on until the run ends. Each part is a
// member: a process at some worker. Whoever leads says when another process is to become a part,
// and is told when one is gone.
type Shares struct {
	*Leader
	mail  *mail
	gone  func(Member, string, bool) []byte // the message that says so
	own   *host                             // of this machine
	alone time.Duration                     // after which members are here if there is no worker
	last  []byte
	ends  [][]byte
	// purged are the places before which messages were removed, by address. Only Keep looks there.
	purged map[int]uint64
	// stored is what is at the server for whoever goes on. It belongs to the one who sends, too.
	stored Stored

	mu      sync.Mutex // guards what follows
	since   time.Time  // when there was a worker last, or the run began
	first   time.Time  // when there was one first; zero: there was none
	members map[uint64]*placed
	waiting []Member
}

// placed is a member with its worker, as the leader knows it.
type placed struct {
	Member
	worker string    // empty: it is here
	asked  time.Time // when the worker was asked for it
}

// alonePatience is for those who only try it out, on one machine. It is how long a worker is waited
// for until a member is here.
const alonePatience = 5 * time.Second

// LeadShares begins a run, or goes on with one of the same key that another leader has not ended.
// Gone makes the message that tells of a member that is gone.
func LeadShares(ctx context.Context, o Options, run Run, program string, become Become,
	gone func(m Member, reason string, byItself bool) []byte) (*Shares, error) {
	if o.Limit == 0 {
		o.Limit = maxShares
	}
	l, err := Lead(ctx, o, run, program)
	if err != nil {
		return nil, err
	}
	if err := isNewEnough(l.nats.ConnectedServerVersion()); err != nil {
		l.Close()
		return nil, fmt.Errorf("NATS server %s: %w", WithoutSecret(l.url), err)
	}
	s := &Shares{Leader: l, gone: gone, since: time.Now(), members: map[uint64]*placed{},
		alone: alonePatience, purged: map[int]uint64{}}
	// What another leader has stored under its name may still be needed.
	s.mail = newMail(l.connection, run.Key, "front."+l.run.ID, ToFront)
	s.mail.news = make(chan []byte, 1<<10)
	s.own = newHost(l.ctx, l.connection, l.run, program, become, func(m Member, reason string) {
		s.left(m, reason, true)
	})
	if err := errors.Join(l.persist(s.begin), s.listen()); err != nil {
		l.Close()
		return nil, fmt.Errorf("NATS server %s: %w", WithoutSecret(l.url), err)
	}
	return s, nil
}

// isNewEnough reports what is wrong with the release of a server, such as 2.9.10. A member receives
// what is for it and what is for all by one consumer, in one order. Older servers have consumers of
// one subject only. A version that is no number is that of a build of one's own.
func isNewEnough(version string) error {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	if n < 2 || major > 2 || major == 2 && minor >= 10 {
		return nil
	}
	return fmt.Errorf("it is nats-server %s, and a search over states needs 2.10 or later: start a newer "+
		"one, or use --distribute embedded", version)
}

// begin sees what another leader has left. If that one led the
// same search, its messages stay, and whoever leads now goes on with the last level.
func (s *Shares) begin() error {
	stream, err := s.js.Stream(s.ctx, sharesStream)
	if err != nil {
		return err
	}
	subject, _ := shareSubject(s.run.Key, ToLevels)
	last, err := stream.GetLastMsgForSubject(s.ctx, subject)
	if err == nil {
		s.last, err = s.unpack(s.ctx, last.Data)
	} else if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	if err == nil {
		s.ends, err = s.mail.Ends(s.ctx)
	}
	switch {
	case err != nil:
	case s.last == nil && s.ends == nil:
		// What is there is of another check. Nobody could go on with it after this one.
		if err = s.announce(stream); err == nil {
			err = s.clean(stream)
		}
		if err == nil {
			err = s.introduce()
		}
	default:
		s.say("going on with a search that another check has begun")
		s.stored = StoredMessages
	}
	return err
}

// Stored says what a search has at the server for whoever leads the same one next.
type Stored int

const (
	// StoredNothing is before its first level: the next search begins anew.
	StoredNothing Stored = iota
	// StoredMessages are levels or results, without checkpoints: parts repeat their levels.
	StoredMessages
	// StoredCheckpoints are those of some part at least, besides.
	StoredCheckpoints
)

// Stored is what is there now. It may be called when nobody sends.
func (s *Shares) Stored() Stored { return s.stored }

// IsEmbedded says whether the server ends with the run.
func (s *Shares) IsEmbedded() bool { return s.run.Embedded }

// listen hears of members that end.
func (s *Shares) listen() error {
	_, err := s.nats.Subscribe(leftSubject+s.run.ID, func(m *nats.Msg) {
		var x leaving
		if json.Unmarshal(m.Data, &x) == nil {
			s.left(x.Member, x.Reason, true)
		}
	})
	s.busy.Go(s.watch)
	return err
}

// Last says where to go on. It is what another leader has sent last to all parts of levels; nil:
// there was none.
func (s *Shares) Last() []byte { return s.last }

// Ends implements Post: they are what another leader has sent of searches that have ended.
func (s *Shares) Ends(context.Context) ([][]byte, error) { return s.ends, nil }

// Send implements Post. It may be called while another goroutine receives.
func (s *Shares) Send(ctx context.Context, to int, data []byte) error {
	err := s.mail.Send(ctx, to, data)
	if err == nil && (to == ToLevels || to == ToEnds) {
		s.stored = max(s.stored, StoredMessages)
	}
	return err
}

// Put implements Post, and so do Get and Ends.
func (s *Shares) Put(ctx context.Context, name string, data []byte) error {
	return s.mail.Put(ctx, name, data)
}

// Get is that of Post.
func (s *Shares) Get(ctx context.Context, name string) ([]byte, error) { return s.mail.Get(ctx, name) }

// Receive implements Post. News of members come among the messages: they are not kept at the
// server, since another leader begins with other members.
func (s *Shares) Receive(ctx context.Context) (data []byte, place uint64, err error) {
	type got struct {
		data  []byte
		place uint64
		err   error
	}
	select {
	case data := <-s.mail.news:
		return data, 0, nil
	default:
	}
	// What comes from the server is waited for in a way that news interrupt.
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan got, 1)
	go func() {
		data, place, err := s.mail.Receive(waiting)
		done <- got{data, place, err}
	}()
	select {
	case g := <-done:
		return g.data, g.place, g.err
	case data := <-s.mail.news:
		cancel()
		if g := <-done; g.err == nil {
			// Both have come. The message waits with the news.
			s.mail.news <- g.data
		}
		return data, 0, nil
	}
}

// Start has some process become a part, as soon as there is a worker for it. Another process that
// was the same part is not wanted any more.
func (s *Shares) Start(m Member) {
	if len(m.Saved) > 0 {
		s.stored = StoredCheckpoints
	}
	s.mu.Lock()
	for process, p := range s.members {
		if p.Part == m.Part {
			delete(s.members, process)
			s.endMember(p)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w Member) bool { return w.Part == m.Part })
	s.waiting = append(s.waiting, m)
	s.mu.Unlock()
	s.place()
}

// endMember ends a member that is not wanted any more, wherever it is.
func (s *Shares) endMember(p *placed) {
	if p.worker == "" {
		s.own.drop(p.Process)
		return
	}
	s.drop(p.worker, p.Process)
}

// place finds a worker for each part that waits for one: that with the fewest members. Members stay
// where they are, also if other workers come later: to move one would be to begin it again.
func (s *Shares) place() {
	s.mu.Lock()
	defer s.mu.Unlock()
	workers := s.free()
	if len(workers) > 0 {
		s.since = time.Now()
	}
	isAlone := time.Since(s.since) > s.alone
	if !isAlone && len(workers) < len(s.waiting)+len(s.members) && s.isFirst(len(workers)) {
		return
	}
	for len(s.waiting) > 0 && (len(workers) > 0 || isAlone) {
		p := &placed{Member: s.waiting[0], asked: time.Now()}
		s.waiting = s.waiting[1:]
		s.members[p.Process] = p
		if len(workers) == 0 {
			s.own.add(p.Member)
			continue
		}
		// The one with the fewest; of several, the first by name.
		for name := range workers {
			if p.worker == "" || cmp.Or(cmp.Compare(workers[name], workers[p.worker]),
				cmp.Compare(name, p.worker)) < 0 {
				p.worker = name
			}
		}
		workers[p.worker]++
		data, err := json.Marshal(p.Member)
		if err == nil {
			_ = s.nats.Publish(becomeSubject+p.worker, data) // else it is missed soon
		}
	}
}

// Workers that are started by one command come within a second of each other. Were the first of
// them given all parts, the others would have none until a process is lost.

// isFirst says whether there is the first worker, or was a moment ago: others may come, so that
// each has about as many members. The caller holds mu.
func (s *Shares) isFirst(workers int) bool {
	if s.first.IsZero() && workers > 0 {
		s.first = time.Now()
	}
	return workers == 0 || time.Since(s.first) < together
}

// together is short, since a search may take no longer than that. It is within which time workers
// are taken to have come together.
const together = 2 * time.Second

// free says how many members each worker has. The caller holds mu.
func (s *Shares) free() map[string]int {
	s.Leader.Workers() // forgets those that are gone
	s.Leader.mu.Lock()
	defer s.Leader.mu.Unlock()
	workers := map[string]int{}
	for id := range s.Leader.workers {
		workers[id] = 0
	}
	for _, p := range s.members {
		if _, ok := workers[p.worker]; ok {
			workers[p.worker]++
		}
	}
	return workers
}

// left notes that a member has ended. Whoever leads is told, and says what is to be done: mostly
// that another process becomes the same part. A member may be told of twice, by its worker and by
// watch.
func (s *Shares) left(m Member, reason string, byItself bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[m.Process] == nil {
		return
	}
	p := s.members[m.Process]
	delete(s.members, m.Process)
	// If the worker is there after all, it need not go on.
	s.drop(p.worker, m.Process)
	select {
	case s.mail.news <- s.gone(m, cmp.Or(reason, "it has ended"), byItself):
	case <-s.ctx.Done():
	}
}

// drop tells a worker that a member is not wanted any more.
func (s *Shares) drop(worker string, process uint64) {
	_ = s.nats.Publish(dropSubject+worker, strconv.AppendUint(nil, process, 10)) // else it is told again
}

// watch looks now and then how the members are, until the run ends: it misses members whose worker
// is gone, or does not have them.
func (s *Shares) watch() {
	for s.ctx.Err() == nil {
		for _, m := range s.missed() {
			s.left(m, "its worker is gone", false)
		}
		s.place()
		pause(s.ctx, beat/4)
	}
}

// missed are the members that are gone. A worker whose process was killed does not listen any more,
// which the server sees at once. One that is out of reach gives no sign of life. And one that never
// heard that it is to have a member does not name it.
func (s *Shares) missed() (list []Member) {
	silent := s.silent()
	s.Leader.mu.Lock()
	for name, isSilent := range silent {
		if isSilent {
			delete(s.Leader.workers, name) // until it gives another sign of life
		}
	}
	s.Leader.mu.Unlock()
	s.mu.Lock()
	workers := s.free()
	s.mu.Unlock()
	s.Leader.mu.Lock()
	has := map[uint64]string{}
	for name, numbers := range s.Leader.shares {
		for _, n := range numbers {
			has[n] = name
		}
	}
	s.Leader.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	// A worker that was out of reach may have members that others have replaced.
	for n, name := range has {
		if s.members[n] == nil {
			s.drop(name, n)
		}
	}
	// While the server is away, nobody can say anything.
	if !s.nats.IsConnected() || time.Since(time.Unix(0, s.Leader.since.Load())) < lifetime {
		return nil
	}
	for n, p := range s.members {
		_, isThere := workers[p.worker]
		isMissed := has[n] == "" && time.Since(p.asked) > lifetime
		if p.worker != "" && (!isThere || isMissed || silent[p.worker]) {
			list = append(list, p.Member)
		}
	}
	return list
}

// silent are workers that have members and do not listen any more. The server knows that at once:
// it answers in place of them. A worker that listens answers with nothing, and one that is slow is
// not taken for gone.
func (s *Shares) silent() map[string]bool {
	used := map[string]bool{}
	s.mu.Lock()
	for _, p := range s.members {
		used[p.worker] = p.worker != ""
	}
	s.mu.Unlock()
	for name, isUsed := range used {
		_, err := s.nats.Request(becomeSubject+name, nil, beat)
		used[name] = isUsed && errors.Is(err, nats.ErrNoResponders)
	}
	return used
}

// Close ends the run. If it is to go on later, messages stay: a server that does not end with the
// run has them for whoever leads the same search next. A leader that is killed leaves them, too.
// Members end in any case, since their workers see that the run is over.
func (s *Shares) Close(goesOn bool) {
	if !goesOn {
		if stream, err := s.js.Stream(context.WithoutCancel(s.ctx), sharesStream); err == nil {
			_ = s.clean(stream)
		}
	}
	s.mail.stop()
	s.Leader.end()
	s.own.busy.Wait()
	s.Leader.Close()
}
