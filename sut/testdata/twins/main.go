// Command twins is what the race detector is compared with the native one on: programs that each share
// something of the standard library between goroutines, and share memory of their own in a way that it
// orders, or does not. The arguments name them, as in "sync.Mutex/fork"; without arguments it lists them.
//
// A program is a thing and a shape. A thing that orders what goroutines do ("hands over") has the programs
//
//	thing/fork thing/fan thing/chain   no data race
//	thing/racy thing/late              one: the reader does not look, or the writer goes on writing
//
// and one that several goroutines can use at once has
//
//	thing/use thing/nested thing/pool  no data race: they use it, and nothing else
//	thing/bare                         one: they also write a variable that nothing orders
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// handover is a thing by which one goroutine lets others know what it has done: publish happens
// before observe returns true, and observe may be called by several goroutines. A new one is made for
// each use.
type handover func() (publish func(), observe func() bool)

// handovers and shared are filled by the other files.
var (
	handovers = map[string]handover{}
	shared    = map[string]func() func(){} // things that goroutines can use at the same time
)

// number is what the accesses are to. A pointer to a struct of each execution's own, so that each program
// starts with memory that nobody has accessed.
type number struct{ n int }

func join(functions ...func()) {
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
		}()
	}
	wg.Wait()
}

// handoverShapes are programs around a thing that hands over.
var handoverShapes = map[string]func(handover){
	"fork": func(h handover) { // one writes, another one reads
		publish, observe := h()
		x := &number{}
		join(func() { x.n = 1; publish() }, func() {
			if observe() && x.n != 1 {
				panic("not seen")
			}
		})
	},
	"fan": func(h handover) { // one writes, two read
		publish, observe := h()
		x := &number{}
		read := func() {
			if observe() && x.n != 1 {
				panic("not seen")
			}
		}
		join(func() { x.n = 1; publish() }, read, read)
	},
	"chain": func(h handover) { // the second writes what the first has written, the third reads both
		publish, observe := h()
		publish2, observe2 := h()
		x := &number{}
		join(func() { x.n = 1; publish() }, func() {
			if observe() {
				x.n++
				publish2()
			}
		}, func() {
			if observe2() && x.n != 2 {
				panic("not seen")
			}
		})
	},
	"racy": func(h handover) { // the reader does not look
		publish, _ := h()
		x := &number{}
		join(func() { x.n = 1; publish() }, func() { read(x) })
	},
	"late": func(h handover) { // the writer writes again, after it has said so
		publish, observe := h()
		x := &number{}
		join(func() { x.n = 1; publish(); x.n = 2 }, func() { observe(); read(x) })
	},
}

//go:noinline
func read(x *number) { sink = x.n > 5 }

var sink bool

// sharedShapes are programs around a thing that goroutines use at the same time.
var sharedShapes = map[string]func(func() func()){
	"use": func(thing func() func()) {
		f := thing()
		join(f, f)
	},
	"nested": func(thing func() func()) { // by goroutines that others start
		f := thing()
		join(func() { join(f, f) }, f)
	},
	"pool": func(thing func() func()) { // by workers, who get to know what to do by a channel
		f := thing()
		work := make(chan func(), 4)
		for range 3 {
			work <- f
		}
		close(work)
		worker := func() {
			for f := range work {
				f()
			}
		}
		join(worker, worker)
	},
	"bare": func(thing func() func()) {
		f, x := thing(), &number{}
		join(func() { x.n++; f() }, func() { x.n++; f() })
	},
}

// isRacy tells the shapes with a data race.
func isRacy(shape string) bool { return shape == "racy" || shape == "late" || shape == "bare" }

func programs() map[string]func() {
	all := map[string]func(){}
	for name, h := range handovers {
		for shape, f := range handoverShapes {
			all[name+"/"+shape] = func() { f(h) }
		}
	}
	for name, thing := range shared {
		for shape, f := range sharedShapes {
			all[name+"/"+shape] = func() { f(thing) }
		}
	}
	return all
}

func main() {
	all := programs()
	if len(os.Args) < 2 {
		names := []string{}
		for name := range all {
			kind := "free "
			if isRacy(name[strings.LastIndex(name, "/")+1:]) {
				kind = "racy "
			}
			names = append(names, kind+name)
		}
		slices.Sort(names)
		fmt.Println(strings.Join(names, "\n"))
		return
	}
	for _, name := range os.Args[1:] {
		f := all[name]
		if f == nil {
			fmt.Fprintln(os.Stderr, "there is no program", name)
			os.Exit(2)
		}
		f()
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
