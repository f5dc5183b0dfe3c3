package space

// Index is a hash table with linear probing, from vectors to values. The zero Index is empty.
type Index[K Vector, T any] struct {
	slots []slot[K, T] // a power of two
	count int
}

type slot[K Vector, T any] struct {
	key   K
	value T
	isSet bool
}

// Len is how many values there are.
func (x *Index[K, T]) Len() int { return x.count }

// Find returns the place of a value until the next Put; nil if there is none.
func (x *Index[K, T]) Find(key *K) *T {
	if len(x.slots) == 0 {
		return nil
	}
	if s := x.slot(key); s.isSet {
		return &s.value
	}
	return nil
}

// slot is where a key is, or where it would be. There is always an empty slot.
func (x *Index[K, T]) slot(key *K) *slot[K, T] {
	for i := Hash(key) >> 32; ; i++ {
		s := &x.slots[i&uint64(len(x.slots)-1)]
		if !s.isSet || s.key == *key {
			return s
		}
	}
}

// Put adds a value of a key that has none.
func (x *Index[K, T]) Put(key *K, value T) {
	// At least half of the slots stay empty.
	if x.count++; 2*x.count > len(x.slots) {
		old := x.slots
		x.slots = make([]slot[K, T], max(8, 2*len(old)))
		for i := range old {
			if old[i].isSet {
				*x.slot(&old[i].key) = old[i]
			}
		}
	}
	*x.slot(key) = slot[K, T]{*key, value, true}
}
