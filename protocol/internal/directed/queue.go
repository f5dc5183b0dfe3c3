package directed

import "container/heap"

// queue is the open list: numbers of states by their keys. Of equal keys, the one that has come
// last is taken first, so that a search goes on where it is. Keys are sums of steps, so few differ.
// A heap of keys, each with a list of states, takes four bytes for a state, and mostly constant
// time.
type queue struct {
	keys   keys // those of buckets that are not empty
	bucket map[uint64][]uint32
	length int
}

func newQueue() *queue { return &queue{bucket: map[uint64][]uint32{}} }

// push adds a state. It may be there already, with another key.
func (q *queue) push(key uint64, state uint32) {
	list := q.bucket[key]
	if len(list) == 0 {
		heap.Push(&q.keys, key)
	}
	q.bucket[key] = append(list, state)
	q.length++
}

// pop takes a state with the lowest key. Ok is false if there is none.
func (q *queue) pop() (key uint64, state uint32, ok bool) {
	if len(q.keys) == 0 {
		return 0, 0, false
	}
	key = q.keys[0]
	list := q.bucket[key]
	state, q.bucket[key] = list[len(list)-1], list[:len(list)-1]
	q.length--
	// What is empty gives its memory back.
	if len(list) == 1 {
		heap.Pop(&q.keys)
		delete(q.bucket, key)
	}
	return key, state, true
}

// keys is a heap.
type keys []uint64

func (k keys) Len() int           { return len(k) }
func (k keys) Less(i, j int) bool { return k[i] < k[j] }
func (k keys) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }
func (k *keys) Push(x any)        { *k = append(*k, x.(uint64)) }

func (k *keys) Pop() any {
	last := (*k)[len(*k)-1]
	*k = (*k)[:len(*k)-1]
	return last
}
