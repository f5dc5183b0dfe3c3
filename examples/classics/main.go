// Command classics has the programs by which partial-order reductions are compared, as
// ordinary Go. It is given the name of one and its size:
//
//	tandem check ./examples/classics -- lastzero 5
//
// The number of executions is the least possible, one for each order of what depends
// on each other. None has a bug.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func main() {
	programs := map[string]func(n int){
		"lastzero": lastZero, "readers": readers, "filesystem": fileSystem, "indexer": indexer,
		"writers": writers, "locks": locks,
	}
	if len(os.Args) == 3 {
		if n, err := strconv.Atoi(os.Args[2]); err == nil && n > 0 && programs[os.Args[1]] != nil {
			programs[os.Args[1]](n)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: classics lastzero|readers|filesystem|indexer|writers|locks SIZE")
	os.Exit(2)
}

// lastZero has n goroutines that each set one element of an array to one more than the
// element before, and one that looks for the last element that is zero (Abdulla, Aronis,
// Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL 2014).
func lastZero(n int) {
	array := make([]atomic.Int32, n+1)
	for i := 1; i <= n; i++ {
		go func() { array[i].Store(array[i-1].Load() + 1) }()
	}
	i := n
	for array[i].Load() != 0 {
		i--
	}
}

// readers has one goroutine that writes a variable and n that read it (POPL 2014).
func readers(n int) {
	var x atomic.Int32
	var done sync.WaitGroup
	for range n {
		done.Go(func() { x.Load() })
	}
	x.Store(42)
	done.Wait()
}

const (
	inodes = 32
	blocks = 26
)

// fileSystem has n goroutines that each look for a free block for an inode (Flanagan,
// Godefroid: Dynamic Partial-Order Reduction for Model Checking Software, POPL 2005).
func fileSystem(n int) {
	var f struct {
		inodeLock [inodes]sync.Mutex
		inode     [inodes]int
		blockLock [blocks]sync.Mutex
		busy      [blocks]bool
	}
	take := func(b int) bool {
		f.blockLock[b].Lock()
		defer f.blockLock[b].Unlock()
		free := !f.busy[b]
		f.busy[b] = true
		return free
	}
	var done sync.WaitGroup
	for id := range n {
		done.Go(func() {
			i := id % inodes
			f.inodeLock[i].Lock()
			defer f.inodeLock[i].Unlock()
			if f.inode[i] != 0 {
				return
			}
			b := i * 2 % blocks
			for !take(b) {
				b = (b + 1) % blocks
			}
			f.inode[i] = b + 1
		})
	}
	done.Wait()
}

const (
	tableSize = 128
	messages  = 4 // of each goroutine
)

// indexer has n goroutines that each enter messages in a common hash table (Flanagan,
// Godefroid, POPL 2005).
func indexer(n int) {
	var lock [tableSize]sync.Mutex
	var table [tableSize]int
	enter := func(h, message int) bool {
		lock[h].Lock()
		defer lock[h].Unlock()
		if table[h] != 0 {
			return false
		}
		table[h] = message
		return true
	}
	var done sync.WaitGroup
	for id := range n {
		done.Go(func() {
			for m := 1; m <= messages; m++ {
				message := m*11 + id
				h := message * 7 % tableSize
				for !enter(h, message) {
					h = (h + 1) % tableSize
				}
			}
		})
	}
	done.Wait()
}

// writers has n goroutines that each write the same variable: n! orders.
func writers(n int) {
	var x atomic.Int32
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() { x.Store(int32(i)) })
	}
	done.Wait()
}

const sections = 3 // of each goroutine

// locks has n goroutines that each enter critical sections of one lock: (3n)! / 6^n orders.
func locks(n int) {
	var lock sync.Mutex
	var entered int
	var done sync.WaitGroup
	for range n {
		done.Go(func() {
			for range sections {
				lock.Lock()
				entered++
				lock.Unlock()
			}
		})
	}
	done.Wait()
}
