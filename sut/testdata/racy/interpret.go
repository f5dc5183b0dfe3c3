package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// interpret runs a little program and writes a trace of it to the standard
// output. The text has a word for each goroutine, of operations of two letters:
// what to do, and on which object.
//
//	r w      read or write a part of the memory; g start a goroutine
//	L U      lock and unlock a mutex; l u a read-write mutex; R E for reading
//	s c k    try to send, try to receive, close a channel
//	a b d f  atomic load, store, add, and a compare-and-swap that fails
//	o        once; D W done and wait
//
// Accesses to memory, unlocking and starting are traced before they happen, all
// else right after. What could tell the difference does not happen in between:
// the trace says in which order things happen.
func interpret(text string) {
	code := strings.Fields(text)
	m := &machine{code: code, channels: []chan int{make(chan int, 1), make(chan int, 2), make(chan int)}}
	m.wg.Add(strings.Count(text, "D0"))
	m.run(0)
}

type machine struct {
	code     []string
	memory   memory
	mutexes  [2]sync.Mutex
	rw       sync.RWMutex
	channels []chan int
	atomics  [2]atomic.Int64
	once     sync.Once
	wg       sync.WaitGroup
}

type memory struct {
	word   int64
	halves [2]int32
	bytes  [8]byte
	pair   struct{ a, b int64 }
}

func (m *machine) run(self int) {
	code := m.code[self]
	for at := 0; at < len(code); at += 2 {
		op, n := code[at], int(code[at+1]-'0')
		switch op {
		case 'r', 'w', 'g', 'U', 'u', 'E':
			trace(self, op, n, 0)
			m.perform(op, n)
		default:
			trace(self, op, n, m.synchronise(op, n, self*100+at+1))
		}
	}
}

func (m *machine) perform(op byte, n int) {
	switch op {
	case 'r', 'w':
		m.access(op == 'w', n)
	case 'g':
		go m.run(n)
	case 'U':
		m.mutexes[n].Unlock()
	case 'u':
		m.rw.Unlock()
	case 'E':
		m.rw.RUnlock()
	}
}

func (m *machine) access(write bool, n int) {
	p := &m.memory
	if !write {
		m.read(n)
		return
	}
	switch n {
	case 0:
		p.word = 1
	case 1, 2:
		p.halves[n-1] = 1
	case 3:
		p.halves = [2]int32{1, 2}
	case 4, 5:
		p.bytes[n] = 1
	case 6:
		p.bytes = [8]byte{1}
	case 7:
		p.pair.b = 1
	case 8:
		p.pair = struct{ a, b int64 }{1, 2}
	case 9:
		*p = memory{word: 1}
	}
}

func (m *machine) read(n int) {
	p := &m.memory
	switch n {
	case 0:
		keep(p.word)
	case 1, 2:
		keep(p.halves[n-1])
	case 3:
		keep(p.halves)
	case 4, 5:
		keep(p.bytes[n])
	case 6:
		keep(p.bytes)
	case 7:
		keep(p.pair.b)
	case 8:
		keep(p.pair)
	case 9:
		keep(*p)
	}
}

//go:noinline
func keep[T any](T) {}

// synchronise returns what was observed: 0 for nothing, or the value received.
// What a Once does is traced as an operation that observed 1.
func (m *machine) synchronise(op byte, n, value int) int {
	switch op {
	case 'L':
		m.mutexes[n].Lock()
	case 'l':
		m.rw.Lock()
	case 'R':
		m.rw.RLock()
	case 'a':
		m.atomics[n].Load()
	case 'b':
		m.atomics[n].Store(1)
	case 'd':
		m.atomics[n].Add(1)
	case 'f':
		m.atomics[n].CompareAndSwap(-1, 0)
	case 'o':
		m.once.Do(func() { trace(value/100, op, n, 1) })
	case 'D':
		m.wg.Done()
	case 'W':
		m.wg.Wait()
	default:
		return m.communicate(op, n, value)
	}
	return 0
}

const closed = 9999

func (m *machine) communicate(op byte, n, value int) int {
	c := m.channels[n]
	switch op {
	case 's':
		select {
		case c <- value:
			return value
		default:
		}
	case 'c':
		select {
		case x, ok := <-c:
			if !ok {
				return closed
			}
			return x
		default:
		}
	case 'k':
		close(c)
	}
	return 0
}

// trace writes by a system call that is no synchronisation.
func trace(self int, op byte, n, observed int) {
	line := [...]byte{
		byte('0' + self), op, byte('0' + n), ' ', byte('0' + observed/1000), byte('0' + observed/100%10),
		byte('0' + observed/10%10), byte('0' + observed%10), '\n',
	}
	syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&line)), uintptr(len(line)))
}
