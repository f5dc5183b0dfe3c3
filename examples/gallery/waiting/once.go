package waiting

import (
	"errors"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const initialisation = "blocking: Once"

var onceBugs = []bug.Bug{
	{
		Name: "once-recursion", Class: initialisation, Shows: bug.Deadlock,
		Doc:   "an initialisation calls what waits for its end",
		Buggy: func() { newLogger().load(true) },
		Fixed: func() { newLogger().load(false) },
	},
	{
		Name: "once-circle", Class: initialisation, Shows: bug.Deadlock,
		Doc:   "two packages initialise each other lazily, from two goroutines",
		Buggy: func() { useBoth(true) },
		Fixed: func() { useBoth(false) },
	},
	{
		Name: "once-fails", Class: "non-blocking: misuse of Once", Shows: bug.Panic,
		Doc:   "an initialisation fails, counts as done, and leaves nil to all but the first caller",
		Buggy: func() { queryTwice(new(database).connect) },
		Fixed: func() { queryTwice(new(database).connectChecked) },
	},
}

// logger reads its settings when it is first used.
type logger struct {
	once  sync.Once
	level int
}

func newLogger() *logger { return new(logger) }

// load has the bug, if verbose: it logs, which waits until it has returned. The
// fixed one logs nothing while it is on its way.
func (l *logger) load(verbose bool) {
	l.once.Do(func() {
		l.level = 1
		if verbose {
			l.print("loaded")
		}
	})
}

func (l *logger) print(string) { l.load(false) }

// useBoth initialises a store and a cache. The store's own cache makes it need
// the cache; if the cache is to read from the store as it begins, there is a
// circle. The fixed cache reads from it later.
func useBoth(warm bool) {
	var store, cache sync.Once
	var openStore, openCache func()
	openStore = func() { store.Do(func() { openCache() }) }
	openCache = func() {
		cache.Do(func() {
			if warm {
				openStore()
			}
		})
	}
	var users sync.WaitGroup
	users.Go(openStore)
	users.Go(openCache)
	users.Wait()
}

// database connects when it is first used, which does not succeed.
type database struct {
	once       sync.Once
	connection *connection
	err        error
}

type connection struct{ queries int }

var errRefused = errors.New("connection refused")

// connect has the bug: only the first caller gets the error.
func (d *database) connect() (c *connection, err error) {
	d.once.Do(func() { err = errRefused })
	return d.connection, err
}

// connectChecked keeps the error for all.
func (d *database) connectChecked() (*connection, error) {
	d.once.Do(func() { d.err = errRefused })
	return d.connection, d.err
}

func queryTwice(connect func() (*connection, error)) {
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() {
			c, err := connect()
			if err != nil {
				return
			}
			c.queries++
		})
	}
	users.Wait()
}
