// Package tandem is for programs that want to speak to the checker: to have a
// value explored, or to state what must hold. A program need not use it to be
// checked, and one that does runs without the checker too.
package tandem

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"unsafe"

	"github.com/tandem-mc/tandem/internal/deephash"
)

// call is a system call that no kernel has. Under the checker it is answered;
// everywhere else it fails, which tells the two apart.
const call = 0x74616e64

// What a program can ask.
const (
	choose   = 1
	assert   = 2
	estimate = 3
	publish  = 4
	name     = 5 // the state: is its hash wanted?
	named    = 6 // this is the hash
	notNamed = 7 // it has none
)

// Choose returns a number from 0 to n-1. The checker explores all of them;
// without it, the number is random. It panics if n is not in 1..65535.
func Choose(n int) int {
	if n < 1 || n > 1<<16-1 {
		panic(fmt.Sprintf("tandem.Choose(%d): there must be 1 to 65535 values to choose from", n))
	}
	value, _, errno := syscall.Syscall(call, choose, uintptr(n), 0)
	if errno != 0 {
		return rand.IntN(n)
	}
	return int(value)
}

// Assert states that condition holds. If it does not, the checker reports a
// violation with the message that is formatted from args in the manner of
// fmt.Sprint; without the checker it panics with that message.
func Assert(condition bool, args ...any) {
	if condition {
		return
	}
	message := "assertion failed"
	if len(args) > 0 {
		message = fmt.Sprint(args...)
	}
	text := []byte(message)
	syscall.Syscall(call, assert, uintptr(len(text)), uintptr(unsafe.Pointer(unsafe.SliceData(text))))
	panic(message)
}

// Estimate says how near the program is to a violation: less is nearer. The search "directed"
// explores first what follows a low estimate; the others do not look at it. An estimate holds for
// the whole program until the next one, which may come from any goroutine. It may be wrong: it
// decides what is explored first, and not what is explored. Without the checker nothing happens.
func Estimate(n int) { syscall.Syscall(call, estimate, uintptr(n), 0) }

// maxPublished bounds the bytes of a name and its value.
const maxPublished = 1 << 16

// Publish says that name has a value in this program, for properties of several programs that are
// checked together. With the key agree of a configuration, that is what it has decided, or who
// leads in term 3. With the key exclusive it is that it holds a lock, until it publishes false.
// The value is formatted in the manner of fmt.Sprint. Without the checker nothing happens. Publish
// panics if the name has a zero byte, or if name and value have more than 64 KiB together.
func Publish(name string, value any) {
	said := name + "\x00" + fmt.Sprint(value)
	if strings.Contains(name, "\x00") || len(said) > maxPublished {
		panic(fmt.Sprintf("tandem.Publish: a name has no zero byte, and name and value have at most %d bytes",
			maxPublished))
	}
	syscall.Syscall(call, publish, uintptr(len(said)), uintptr(unsafe.Pointer(unsafe.StringData(said))))
}

// State names the state of the program: what follows depends on x only. The checker then ends an
// execution that comes to a state which it has come to before, since all that follows has been
// explored, or will be. So loops that never end have an end, and what can be reached in many ways
// is explored once. Without the checker nothing happens.
//
// x is to have all that what follows depends on: all data that any goroutine still reads before it
// writes, and what is in channels. Where the goroutines are, and when timers are due, the checker
// adds by itself. The time and random numbers after a State must make no difference. x is hashed
// with all that its pointers lead to; unexported fields count, and the order of maps does not. It
// may be data that other goroutines write: the checker looks at it, and not the program.
//
// The checker does not know whether x has everything. If not, it may miss what it should find. It
// says in its verdict that it has relied on x, and it runs a sample of the executions that it has
// ended further, to see whether what follows was known.
//
// State panics under the checker if x has a function, a channel or an unsafe pointer that is not
// nil, or more than a million parts.
func State(x any) {
	wanted, _, errno := syscall.Syscall(call, name, 0, 0)
	if errno != 0 || wanted == 0 {
		return
	}
	hash, err := deephash.Sum(x)
	if err != nil {
		syscall.Syscall(call, notNamed, 0, 0)
		panic(fmt.Sprintf("tandem.State: x%v; leave it out, or say in numbers what it stands for", err))
	}
	syscall.Syscall(call, named, uintptr(hash[0]), uintptr(hash[1]))
}
