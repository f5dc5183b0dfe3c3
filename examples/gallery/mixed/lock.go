// Package mixed has goroutines that wait for each other through operations of
// different kinds: a channel and a lock, a channel and a WaitGroup, two pipes.
package mixed

import (
	"slices"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(lockBugs, groupBugs, pipeBugs) }

const channelAndLock = "blocking: mixed, channel and lock"

var lockBugs = []bug.Bug{
	{
		Name: "send-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "a queue sends to its consumer with the lock held that the consumer needs to go on",
		Buggy: func() { produceAndCount((*tracker).reportLocked) },
		Fixed: func() { produceAndCount((*tracker).report) },
	},
	{
		Name: "publish-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "a publisher waits for a subscriber that waits for the lock to leave",
		Buggy: func() { publishWhileLeaving((*broker).publishLocked) },
		Fixed: func() { publishWhileLeaving((*broker).publish) },
	},
	{
		Name: "flight-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "a cache that loads each key once waits for the load with the lock held that ends it",
		Buggy: func() { loadOnce((*loader).getLocked) },
		Fixed: func() { loadOnce((*loader).get) },
	},
	{
		Name: "shutdown-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "Shutdown waits for connections with the lock held under which they say goodbye",
		Buggy: func() { shutDown((*server).shutdownLocked) },
		Fixed: func() { shutDown((*server).shutdown) },
	},
	{
		Name: "limiter-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "who waits for a token holds the lock that the one who refills the bucket needs",
		Buggy: func() { limit((*bucket).takeLocked) },
		Fixed: func() { limit((*bucket).take) },
	},
	{
		Name: "leader-under-lock", Class: channelAndLock, Shows: bug.Deadlock,
		Doc:   "a leader waits for acknowledgements with its log locked, and a follower reads the log first",
		Buggy: func() { replicate((*leader).appendLocked) },
		Fixed: func() { replicate((*leader).append) },
	},
}

// tracker reports progress to a goroutine, which asks for the total.
type tracker struct {
	mu       sync.Mutex
	total    int
	progress chan int
}

// reportLocked has the bug: with the lock held, it waits for somebody else.
func (t *tracker) reportLocked(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += n
	t.progress <- t.total
}

// report sends when it has unlocked.
func (t *tracker) report(n int) {
	t.mu.Lock()
	t.total += n
	total := t.total
	t.mu.Unlock()
	t.progress <- total
}

func (t *tracker) current() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

func produceAndCount(report func(*tracker, int)) {
	t := tracker{progress: make(chan int)}
	var users sync.WaitGroup
	users.Go(func() { report(&t, 1) })
	users.Go(func() {
		t.current()
		<-t.progress
	})
	users.Wait()
}

// broker hands messages to its subscribers.
type broker struct {
	mu          sync.RWMutex
	subscribers map[*subscriber]bool
}

type subscriber struct {
	messages chan string
	gone     chan struct{}
}

func (b *broker) subscribe() *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &subscriber{messages: make(chan string), gone: make(chan struct{})}
	b.subscribers[s] = true
	return s
}

func (b *broker) unsubscribe(s *subscriber) {
	close(s.gone)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subscribers, s)
}

// publishLocked has the bug: a subscriber that is about to leave takes no more
// messages, and cannot leave.
func (b *broker) publishLocked(message string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for s := range b.subscribers {
		s.messages <- message
	}
}

// publish does not wait for those that are leaving.
func (b *broker) publish(message string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for s := range b.subscribers {
		select {
		case s.messages <- message:
		case <-s.gone:
		}
	}
}

func publishWhileLeaving(publish func(*broker, string)) {
	b := broker{subscribers: map[*subscriber]bool{}}
	s := b.subscribe()
	var users sync.WaitGroup
	users.Go(func() { publish(&b, "news") })
	users.Go(func() { b.unsubscribe(s) })
	users.Wait()
}

// loader loads each key once, however many ask for it at the same time.
type loader struct {
	mu      sync.Mutex
	flights map[string]*flight
}

type flight struct {
	landed chan struct{}
	value  int
}

// begin returns the flight of a key, and whether it is new. The lock is held.
func (l *loader) begin(key string) (f *flight, isNew bool) {
	if f := l.flights[key]; f != nil {
		return f, false
	}
	f = &flight{landed: make(chan struct{})}
	l.flights[key] = f
	return f, true
}

func (l *loader) load(key string, f *flight) {
	f.value = len(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(f.landed)
}

// getLocked has the bug: the flight that it waits for cannot land.
func (l *loader) getLocked(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, isNew := l.begin(key)
	if isNew {
		go l.load(key, f)
	}
	<-f.landed
	return f.value
}

// get waits when it has unlocked.
func (l *loader) get(key string) int {
	l.mu.Lock()
	f, isNew := l.begin(key)
	l.mu.Unlock()
	if isNew {
		l.load(key, f)
	}
	<-f.landed
	return f.value
}

func loadOnce(get func(*loader, string) int) {
	l := loader{flights: map[string]*flight{}}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() { get(&l, "key") })
	}
	users.Wait()
}

// server knows its open connections.
type server struct {
	mu          sync.Mutex
	connections map[int]bool
	stop        chan struct{}
	handlers    sync.WaitGroup
}

func (s *server) handle(connection int) {
	<-s.stop
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, connection)
}

// shutdownLocked has the bug: it waits for handlers that wait for its lock.
func (s *server) shutdownLocked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.stop)
	s.handlers.Wait()
}

// shutdown needs no lock to wait.
func (s *server) shutdown() {
	s.mu.Lock()
	close(s.stop)
	s.mu.Unlock()
	s.handlers.Wait()
}

func shutDown(shutdown func(*server)) {
	s := server{connections: map[int]bool{1: true, 2: true}, stop: make(chan struct{})}
	for connection := range 2 {
		s.handlers.Go(func() { s.handle(connection + 1) })
	}
	shutdown(&s)
}

// bucket holds the tokens of a rate limiter.
type bucket struct {
	mu     sync.Mutex
	used   int
	tokens chan struct{}
}

// takeLocked has the bug: the lock keeps others, and the refill, out.
func (b *bucket) takeLocked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	<-b.tokens
	b.used++
}

// take waits for its token first.
func (b *bucket) take() {
	<-b.tokens
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used++
}

func (b *bucket) refill() {
	b.mu.Lock()
	b.used = 0
	b.mu.Unlock()
	b.tokens <- struct{}{}
}

func limit(take func(*bucket)) {
	b := bucket{tokens: make(chan struct{}, 1)}
	var users sync.WaitGroup
	users.Go(func() { take(&b) })
	users.Go(b.refill)
	users.Wait()
}

// leader copies what is appended to its log to a follower.
type leader struct {
	mu     sync.Mutex
	log    []string
	copies chan string
	acks   chan int
}

// appendLocked has the bug: the follower wants to read the log before it
// acknowledges, and the log is locked.
func (l *leader) appendLocked(entry string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, entry)
	l.copies <- entry
	<-l.acks
}

// append has unlocked the log when it waits.
func (l *leader) append(entry string) {
	l.mu.Lock()
	l.log = append(l.log, entry)
	l.mu.Unlock()
	l.copies <- entry
	<-l.acks
}

func (l *leader) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.log)
}

func (l *leader) follow() {
	behind := l.length()
	for range l.copies {
		behind++
		l.acks <- l.length() - behind
	}
}

func replicate(add func(*leader, string)) {
	l := leader{copies: make(chan string), acks: make(chan int)}
	var follower sync.WaitGroup
	follower.Go(l.follow)
	add(&l, "x = 1")
	close(l.copies)
	follower.Wait()
}
