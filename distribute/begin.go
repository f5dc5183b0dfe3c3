package distribute

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// begin gives out the program, and listens for workers and results.
func (l *Leader) begin() error {
	if err := l.persist(l.prepare); err != nil {
		return err
	}
	// From here on workers may come. They look for the run when they hear of it, so it is told
	// last.
	for subject, take := range map[string]nats.MsgHandler{aliveSubject: l.hear,
		begunSubject + l.run.ID + ".*": l.hearBegun} {
		if _, err := l.nats.Subscribe(subject, take); err != nil {
			return err
		}
	}
	if err := l.desk.listen(); err != nil {
		return err
	}
	l.busy.Go(func() {
		l.receive(l.ctx, resultsStream, jetstream.ConsumerConfig{Durable: "leader-" + l.run.ID,
			FilterSubject: "tandem.results." + l.run.ID + ".*"}, func() bool { return true }, l.take)
	})
	if err := l.persist(l.tell); err != nil {
		return err
	}
	// Workers that do not hear of it now find the run a second later.
	return l.nats.Publish(newsSubject, nil)
}

// beginTries is how often a run is begun with a server that goes away meanwhile.
const beginTries = 3

// persist does something again that failed because the server went away meanwhile. It may have been
// done before, in part or wholly.
func (l *Leader) persist(do func() error) error {
	for try := 1; ; try++ {
		since := l.since.Load()
		err := do()
		broken := !l.nats.IsConnected() || l.since.Load() != since
		if err == nil || !broken || try == beginTries || l.ctx.Err() != nil {
			return err
		}
		l.say("the server went away while the run began (%v): trying again", err)
		pause(l.ctx, beat)
	}
}

// prepare makes what is on the server ready for the run. The order matters: nobody else may lead
// here when the queues are emptied.
func (l *Leader) prepare() error {
	if err := l.provide(l.ctx); err != nil {
		return err
	}
	if err := l.claim(); err != nil {
		return fmt.Errorf("beginning a run: %w", err)
	}
	var err error
	if l.parts, err = l.js.Stream(l.ctx, partsStream); err != nil {
		return fmt.Errorf("opening the queue of parts: %w", err)
	}
	results, err := l.js.Stream(l.ctx, resultsStream)
	if err != nil {
		return fmt.Errorf("opening the queue of results: %w", err)
	}
	// What a leader that was killed has left is of no use.
	if err := errors.Join(l.parts.Purge(l.ctx), results.Purge(l.ctx)); err != nil {
		return fmt.Errorf("emptying the queues: %w", err)
	}
	return l.giveProgram()
}

// claim makes the run the one that is led there. A leader that was killed leaves a run there that
// nobody speaks of any more.
func (l *Leader) claim() error {
	data, err := json.Marshal(l.Progress())
	if err != nil {
		return err
	}
	var revision uint64
	for quiet := 0; quiet <= silence; quiet++ {
		// Whoever leads there writes the key each second, and the key ends if nobody does.
		entry, err := l.state.Get(l.ctx, runKey)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			// Of several that begin at the same time one comes first.
			_, err = l.state.Create(l.ctx, runKey, data)
			if errors.Is(err, jetstream.ErrKeyExists) {
				continue
			}
			return err
		}
		if err != nil {
			return err
		}
		// The server may have taken it before it went away.
		if runIn(entry.Value()).ID == l.run.ID {
			return nil
		}
		// It was written since it was looked at last, so somebody is alive.
		if entry.Revision() != revision && revision != 0 {
			return fmt.Errorf("another check leads there, of %s: wait for its end, or name another server",
				runIn(entry.Value()).Package)
		}
		if revision = entry.Revision(); quiet < silence {
			pause(l.ctx, beat)
		}
	}
	// If somebody else does the same, one of both fails.
	_, err = l.state.Update(l.ctx, runKey, data, revision)
	return err
}

// silence is after how many beats without news a leader is taken for dead.
const silence = 3

// runIn is the run that somebody tells of.
func runIn(progress []byte) Run {
	var p Progress
	_ = json.Unmarshal(progress, &p) // of another version: it stays empty
	return p.Run
}

// giveProgram puts the program into the object store.
func (l *Leader) giveProgram() error {
	// It is read piece by piece: programs have tens of megabytes.
	file, err := os.Open(l.program)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := l.objects.Put(l.ctx, jetstream.ObjectMeta{Name: programOf(l.run.ID)}, file); err != nil {
		return fmt.Errorf("giving out the program (the server may have no room on its disk): %w", err)
	}
	return nil
}
