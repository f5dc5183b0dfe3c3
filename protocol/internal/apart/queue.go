package apart

import (
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// queue has the messages that have come and were not looked at yet. So a process that has to catch
// up sees how far the others are. It gets all that was ever sent to it, faster than it expands
// states. So what does not have room yet stays where it is, but for what says that the level after
// the one to be expanded has begun.
type queue struct {
	search int
	limit  int // of bytes
	mu     sync.Mutex
	change *sync.Cond
	list   []message
	bytes  int // in list
	levels int // that begin in list
	level  int // the last one that has begun
	err    error
}

// maxWaiting is how many bytes of messages a part has in memory beside those of two levels.
const maxWaiting = 64 << 20

// queueShare is which part of the memory for states they may take, if states have files.
const queueShare = 8

// waiting is how many bytes of messages may wait in memory beside those of two levels.
func waiting(d *global.Disk) int {
	if d == nil {
		return maxWaiting
	}
	return min(maxWaiting, int(d.Sizes.Table)/queueShare)
}

// message is one that was read but for what is in it.
type message struct {
	kind  kind
	data  []byte
	place uint64
}

func newQueue(t Transport, search, limit int) *queue {
	q := &queue{search: search, limit: limit, level: -1}
	q.change = sync.NewCond(&q.mu)
	go q.fill(t)
	return q
}

// fill receives messages until the search has ended.
func (q *queue) fill(t Transport) {
	for isOver := false; !isOver; {
		data, place, err := t.Receive()
		m := message{place: place}
		search := q.search
		if err == nil {
			m.kind, search, m.data, err = decode(data)
		}
		if err == nil && search != q.search {
			continue // of a search before
		}
		isOver = err != nil || m.kind == kindEnd
		q.put(m, err)
	}
}

// put adds a message when there is room, or an error that ends all.
func (q *queue) put(m message, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > q.limit && q.levels > 1 {
		q.change.Wait()
	}
	if b := (begin{}); err == nil && m.kind == kindGo && read(m.data, &b) == nil {
		q.level = max(q.level, b.Level)
	}
	if err != nil {
		q.err = fmt.Errorf("the front of the search is gone: %w", err)
	} else {
		q.list = append(q.list, m)
		q.count(m, 1)
	}
	q.change.Broadcast()
}

// count counts a message that is in the list now, or by -1 one that is not any more.
func (q *queue) count(m message, by int) {
	q.bytes += by * len(m.data)
	if m.kind == kindGo {
		q.levels += by
	}
}

// next waits for a message.
func (q *queue) next() (message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && q.err == nil {
		q.change.Wait()
	}
	if len(q.list) == 0 {
		return message{}, q.err
	}
	m := q.list[0]
	q.list[0] = message{}
	q.list = q.list[1:]
	q.count(m, -1)
	q.change.Broadcast()
	return m, nil
}

// lastLevel is the last level that has begun somewhere.
func (q *queue) lastLevel() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.level
}
