package table

// Reader is a view of a table for one goroutine. It keeps what it has seen, so that few look-ups
// take the lock.
type Reader struct {
	*Table
	states   [][]*LocalState
	own      [][][]*Entry
	messages []Sent
	// keys and values are a hash table of deliveries with linear probing; a key is a local state
	// and a message, plus one.
	keys    []uint64
	values  []*Entry
	entries int
}

// NewReader returns a Reader that has seen nothing.
func NewReader(t *Table) *Reader {
	const slots = 1 << 7
	n := len(t.locals)
	return &Reader{Table: t, states: make([][]*LocalState, n), own: make([][][]*Entry, n),
		keys: make([]uint64, slots), values: make([]*Entry, slots)}
}

// State is that of Table.
func (r *Reader) State(node int, local Local) *LocalState {
	if int(local) >= len(r.states[node]) {
		// States are only added, so a list that was seen stays right.
		r.mu.Lock()
		r.states[node] = r.locals[node]
		r.mu.Unlock()
	}
	return r.states[node][local]
}

// Message is that of Table.
func (r *Reader) Message(m Message) *Sent {
	if int(m) >= len(r.messages) {
		r.mu.Lock()
		r.messages = r.Table.messages
		r.mu.Unlock()
	}
	return &r.messages[m]
}

// Own returns what happens at all own events of a local state.
func (r *Reader) Own(node int, local Local) ([]*Entry, error) {
	for int(local) >= len(r.own[node]) {
		r.own[node] = append(r.own[node], nil)
	}
	events := r.State(node, local).Own
	if list := r.own[node][local]; list != nil || len(events) == 0 {
		return list, nil
	}
	// All events are needed each time the local state comes up.
	list := make([]*Entry, len(events))
	for i := range list {
		e, err := r.Table.Own(node, local, i)
		if err != nil {
			return nil, err
		}
		list[i] = e
	}
	r.own[node][local] = list
	return list, nil
}

// Deliver is that of Table.
func (r *Reader) Deliver(local Local, m Message) (*Entry, error) {
	key := (uint64(local)<<32 | uint64(m)) + 1
	slot := r.slot(key)
	if r.keys[slot] == key {
		return r.values[slot], nil
	}
	e, err := r.Table.Deliver(local, m)
	if err != nil {
		return nil, err
	}
	r.keys[slot], r.values[slot] = key, e
	if r.entries++; r.entries > len(r.keys)/2 {
		r.grow()
	}
	return e, nil
}

// slot is where a key is, or where it would be.
func (r *Reader) slot(key uint64) int {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	// There are a power of two slots, of which half are empty at least.
	mask := len(r.keys) - 1
	i := int((key*golden)>>32) & mask
	for r.keys[i] != 0 && r.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

// grow doubles the hash table when it is half full.
func (r *Reader) grow() {
	keys, values := r.keys, r.values
	r.keys, r.values = make([]uint64, 2*len(keys)), make([]*Entry, 2*len(keys))
	for i, key := range keys {
		if key != 0 {
			slot := r.slot(key)
			r.keys[slot], r.values[slot] = key, values[i]
		}
	}
}
