package model

import "fmt"

// GoroutineID names a goroutine by its place in the spawn tree, hashed: the
// same goroutine has the same ID in every execution. 0 is the virtual clock.
type GoroutineID uint64

// ObjectID names an object: the same one in all executions in which those that made it did the
// same up to then, whatever others did meanwhile. That is needed because sleep sets and wakeup
// trees are compared with other executions than those they come from. 0 is no object: an access
// to it conflicts with nothing.
type ObjectID uint64

// Action picks a goroutine and, of the alternatives of its pending operation
// (select arm, Choose value), one. Choice is 0 where there is only one.
type Action struct {
	Goroutine GoroutineID
	Choice    int `json:"Alternative"`
}

// String names both, the goroutine in hexadecimal.
func (a Action) String() string {
	return fmt.Sprintf("goroutine %#x choice %d", uint64(a.Goroutine), a.Choice)
}

// AccessKind says what an access conflicts with. The numbers are those of the shared memory.
type AccessKind uint8

// The kinds of access.
const (
	Read        AccessKind = iota // looks at the object: atomic load, WaitGroup.Wait
	Write                         // anything else: atomic store, Lock, Unlock, channels, bytes to a peer
	Commute                       // adds to a counter without looking at it: WaitGroup.Add, Done, RLock
	AccessKinds                   // their number
)

// Access is one use of an object that another goroutine could notice.
type Access struct {
	Object ObjectID
	Delta  int32      // Commute: what it adds to the counter of the object (wait group, readers)
	Count  int32      // the counter, if the object has one, just before this access
	Kind   AccessKind // what it conflicts with
	Ready  uint8      // the wait conditions on the object that held just before this access
}

// The wait conditions of an object, as bits of Access.Ready.
// Accesses of kind Commute may change two of them: ReadyExclusive, which then holds
// exactly while the sum of their deltas is zero, and ReadyPartner, which then holds
// exactly while Access.Count, to which they add, is greater than zero.
const (
	ReadyExclusive uint8 = 1 << iota // mutex free, counter zero, a writer may enter
	ReadyShared                      // a reader may enter
	ReadySend                        // channel has room, or is closed
	ReadyReceive                     // channel has something to receive, or is closed
	ReadyPartner                     // somebody waits to be the partner
	ReadyMasks                       // greater than all masks

	// CountsWaiting is no wait condition. It marks a counter of goroutines that wait,
	// which is not negative in any order.
	CountsWaiting = ReadyMasks
)
