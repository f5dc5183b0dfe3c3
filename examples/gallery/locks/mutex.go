// Package locks has goroutines that wait for a lock forever, or give back one
// that they do not hold.
package locks

import (
	"errors"
	"slices"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the exhibits of this package.
func Bugs() []bug.Bug { return slices.Concat(mutexBugs, rwMutexBugs) }

const (
	doubleLocking = "blocking: double locking"
	lockOrder     = "blocking: lock order"
	missingUnlock = "blocking: missing unlock"
)

var mutexBugs = []bug.Bug{
	{
		Name: "double-lock", Class: doubleLocking, Shows: bug.Deadlock,
		Doc:   "a method that holds the lock calls another one that takes it",
		Buggy: func() { sellOut((*inventory).take) },
		Fixed: func() { sellOut((*inventory).takeLockedOnce) },
	},
	{
		Name: "handler-under-lock", Class: doubleLocking, Shows: bug.Deadlock,
		Doc:   "handlers are called with the lock held, and one of them needs it",
		Buggy: func() { resubscribe((*emitter).emit) },
		Fixed: func() { resubscribe((*emitter).emitUnlocked) },
	},
	{
		Name: "ab-ba", Class: lockOrder, Shows: bug.Deadlock,
		Doc:   "two transfers lock the same two accounts in opposite orders",
		Buggy: func() { transferBothWays(transfer) },
		Fixed: func() { transferBothWays(transferInOrder) },
	},
	{
		Name: "philosophers", Class: lockOrder, Shows: bug.Deadlock,
		Doc:   "each of three has the fork at its left and waits for the one at its right",
		Buggy: func() { dine(func(left, right int) (int, int) { return left, right }) },
		Fixed: func() {
			dine(func(left, right int) (int, int) {
				return min(left, right), max(left, right)
			})
		},
	},
	{
		Name: "early-return", Class: missingUnlock, Shows: bug.Deadlock,
		Doc:   "the path that reports an error forgets to unlock",
		Buggy: func() { spend((*purse).withdraw) },
		Fixed: func() { spend((*purse).withdrawDeferred) },
	},
	{
		Name: "panic-keeps-lock", Class: missingUnlock, Shows: bug.Deadlock,
		Doc:   "a handler panics with the lock held; the server recovers, and the lock stays taken",
		Buggy: func() { serveTwoRequests((*visits).handle) },
		Fixed: func() { serveTwoRequests((*visits).handleDeferred) },
	},
	{
		Name: "cloned-mutex", Class: missingUnlock, Shows: bug.Deadlock,
		Doc:   "a structure is cloned with its mutex while that is locked: nobody will unlock the clone",
		Buggy: func() { snapshot((*settings).cloneAll) },
		Fixed: func() { snapshot((*settings).cloneValues) },
	},
	{
		Name: "double-unlock", Class: "non-blocking: misuse of a lock", Shows: bug.Panic,
		Doc:   "one path unlocks by itself what a deferred call unlocks again",
		Buggy: func() { drain((*stack).popUnlocking) },
		Fixed: func() { drain((*stack).pop) },
	},
}

// inventory is a stock of goods.
type inventory struct {
	mu    sync.Mutex
	stock int
}

func (i *inventory) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stock
}

// take has the bug: a Mutex is not reentrant, and count locks it too.
func (i *inventory) take() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count() == 0 {
		return false
	}
	i.stock--
	return true
}

// takeLockedOnce looks at the stock itself: methods that lock are called only
// from outside of the type.
func (i *inventory) takeLockedOnce() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stock == 0 {
		return false
	}
	i.stock--
	return true
}

func sellOut(take func(*inventory) bool) {
	i := inventory{stock: 2}
	var buyers sync.WaitGroup
	for range 2 {
		buyers.Go(func() { take(&i) })
	}
	buyers.Wait()
}

// emitter calls its handlers for each event.
type emitter struct {
	mu       sync.Mutex
	handlers []func()
}

func (e *emitter) subscribe(handler func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers = append(e.handlers, handler)
}

// emit has the bug: what a handler does is not for the emitter to know.
func (e *emitter) emit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, handle := range e.handlers {
		handle()
	}
}

// emitUnlocked calls the handlers that there were when it began.
func (e *emitter) emitUnlocked() {
	e.mu.Lock()
	handlers := slices.Clone(e.handlers)
	e.mu.Unlock()
	for _, handle := range handlers {
		handle()
	}
}

func resubscribe(emit func(*emitter)) {
	var e emitter
	e.subscribe(func() { e.subscribe(func() {}) })
	emit(&e)
}

// account is an account of a bank.
type account struct {
	mu      sync.Mutex
	number  int
	balance int
}

// transfer has the bug: which lock comes first depends on the direction.
func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

// transferInOrder locks the account with the lower number first, whatever the
// direction: where all locks are taken in one order, nobody waits in a circle.
func transferInOrder(from, to *account, amount int) {
	first, second := from, to
	if to.number < from.number {
		first, second = to, from
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

func transferBothWays(transfer func(from, to *account, amount int)) {
	a, b := &account{number: 1, balance: 100}, &account{number: 2, balance: 100}
	var transfers sync.WaitGroup
	transfers.Go(func() { transfer(a, b, 10) })
	transfers.Go(func() { transfer(b, a, 20) })
	transfers.Wait()
}

// dine seats three philosophers at a round table. The first fork that choose
// returns is picked up first. With the lower number first, the last philosopher
// reaches for the other side than the rest, and the circle is broken.
func dine(choose func(left, right int) (first, second int)) {
	var forks [3]sync.Mutex
	var philosophers sync.WaitGroup
	for seat := range forks {
		philosophers.Go(func() {
			first, second := choose(seat, (seat+1)%len(forks))
			forks[first].Lock()
			forks[second].Lock()
			//lint:ignore SA2001 the philosopher eats here, which takes no step
			forks[second].Unlock()
			forks[first].Unlock()
		})
	}
	philosophers.Wait()
}

// purse holds money.
type purse struct {
	mu    sync.Mutex
	money int
}

var errShort = errors.New("not enough money")

func (p *purse) deposit(amount int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.money += amount
}

// withdraw has the bug: with too little money, the lock is kept.
func (p *purse) withdraw(amount int) error {
	p.mu.Lock()
	if p.money < amount {
		return errShort
	}
	p.money -= amount
	p.mu.Unlock()
	return nil
}

// withdrawDeferred unlocks on all paths.
func (p *purse) withdrawDeferred(amount int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.money < amount {
		return errShort
	}
	p.money -= amount
	return nil
}

// spend is lucky where the deposit comes first.
func spend(withdraw func(*purse, int) error) {
	var p purse
	var users sync.WaitGroup
	users.Go(func() { p.deposit(10) })
	users.Go(func() { _ = withdraw(&p, 7) })
	users.Wait()
}

// visits counts requests by the agent that made them.
type visits struct {
	mu    sync.Mutex
	agent map[string]int // nil until the first request that names one
}

// handle has the bug: the write to a nil map panics between Lock and Unlock.
func (v *visits) handle(agent string) {
	v.mu.Lock()
	v.agent[agent]++
	v.mu.Unlock()
}

// handleDeferred unlocks while the panic unwinds the stack.
func (v *visits) handleDeferred(agent string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.agent[agent]++
}

// serveTwoRequests recovers from panics of handlers as net/http does.
func serveTwoRequests(handle func(*visits, string)) {
	var v visits
	var requests sync.WaitGroup
	for _, agent := range []string{"curl", "wget"} {
		requests.Go(func() {
			defer func() { _ = recover() }()
			handle(&v, agent)
		})
	}
	requests.Wait()
}

// settings are read by those who clone them.
type settings struct {
	mu     sync.Mutex
	volume int
}

// clone copies any structure. It is too general for go vet to see the mutex.
func clone[T any](p *T) *T {
	c := *p
	return &c
}

// cloneAll has the bug: the mutex is locked, and so is its copy.
func (s *settings) cloneAll() *settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s)
}

// cloneValues gives the clone a mutex of its own.
func (s *settings) cloneValues() *settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &settings{volume: s.volume}
}

func snapshot(clone func(*settings) *settings) {
	c := clone(&settings{volume: 11})
	c.mu.Lock()
	c.volume--
	c.mu.Unlock()
}

// stack is a stack of numbers.
type stack struct {
	mu      sync.Mutex
	numbers []int
}

// popUnlocking has the bug: with an empty stack, it unlocks twice.
func (s *stack) popUnlocking() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers) == 0 {
		s.mu.Unlock()
		return 0, false
	}
	return s.top(), true
}

// pop leaves all unlocking to the deferred call.
func (s *stack) pop() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers) == 0 {
		return 0, false
	}
	return s.top(), true
}

func (s *stack) top() int {
	last := len(s.numbers) - 1
	n := s.numbers[last]
	s.numbers = s.numbers[:last]
	return n
}

func drain(pop func(*stack) (int, bool)) {
	s := stack{numbers: []int{1}}
	var consumers sync.WaitGroup
	for range 2 {
		consumers.Go(func() { pop(&s) })
	}
	consumers.Wait()
}
