package apart

import (
	"errors"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/overflow"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// origin is where batches come from.
type origin struct {
	level   int
	process uint64
}

// received is a batch that was received.
type received struct {
	follower *table.Follower // of the sender
	states   []byte          // nil: they are a piece of a spool
	spool    *external.Spool
	piece    external.Piece
}

// inbox has batches that were received until their level has ended. If states have files, so have
// batches, as soon as there are many.
//
// Which batches count is known only when the next level begins: those of processes that were lost
// on the way are there as well. So they cannot be read before, and wait as they came.
type inbox struct {
	// batches are those of each level and process, in their order.
	batches map[origin][]received
	bytes   int // in memory
	limit   int // of these; zero: there is none
	spools  map[int]*external.Spool
	room    []byte
}

// inboxShare is which part of the memory for states batches may take.
const inboxShare = 8

// newInbox is empty.
func newInbox(d *global.Disk) inbox {
	b := inbox{batches: map[origin][]received{}, spools: map[int]*external.Spool{}}
	if d != nil {
		b.limit = int(d.Sizes.Table) / inboxShare
	}
	return b
}

// put keeps a batch. What comes twice has the same number.
func (b *inbox) put(o origin, number int, r received, share *overflow.Share) error {
	if len(b.batches[o]) != number {
		return nil
	}
	// Before the first level there is no share, and not much comes.
	if b.limit > 0 && share != nil && b.bytes+len(r.states) > b.limit {
		spool := b.spools[o.level]
		if spool == nil {
			spool = share.NewSpool()
			b.spools[o.level] = spool
		}
		var err error
		if r.piece, err = spool.Put(r.states); err != nil {
			return err
		}
		r.states, r.spool = nil, spool
	}
	b.bytes += len(r.states)
	b.batches[o] = append(b.batches[o], r)
	return nil
}

// open returns the states of a batch, until the next call.
func (b *inbox) open(r received) ([]byte, error) {
	if r.spool == nil {
		return r.states, nil
	}
	data, err := r.spool.Get(r.piece, b.room)
	if cap(data) > cap(b.room) {
		b.room = data
	}
	return data, err
}

// drop forgets the batches of levels before one.
func (b *inbox) drop(level int) (err error) {
	for o, list := range b.batches {
		if o.level < level {
			for _, r := range list {
				b.bytes -= len(r.states)
			}
			delete(b.batches, o)
		}
	}
	// A file has batches of one level, so it is removed as a whole.
	for l, spool := range b.spools {
		if l < level {
			err = errors.Join(err, spool.Remove())
			delete(b.spools, l)
		}
	}
	return err
}
