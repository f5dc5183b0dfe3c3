// Command calls calls a sealed library in many ways, and prints what it sees.
package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/library"
)

var (
	counter library.Counter
	handled atomic.Bool
)

func main() {
	if len(os.Args) > 1 {
		together(os.Args[1])
		return
	}
	fmt.Println(counter.Results())
	fmt.Println(counter.Callers(), counter.Stack("main.main"))
	fmt.Println(deferred())
	fmt.Println(panics(), panics())
	fmt.Println(counter.Recover(func() { counter.Panic("within") }))
	fmt.Println(counter.Recover(func() { counter.Recover(func() { counter.Get(); panic("above") }); panic("further") }))
	fmt.Println(counter.Grow(200), counter.Collect())
	nested(20)
	fmt.Println(reflect.ValueOf(&counter).MethodByName("Callers").Call(nil)[0])
	ends()
	sorted()
	fmt.Println(counter.Get())
}

func deferred() (result string) {
	defer func() { result = counter.Callers() + " deferred" }()
	defer counter.Increment()
	defer counter.Grow(3)
	return ""
}

func panics() (what any) {
	defer func() {
		what = fmt.Sprint(recover(), counter.Get(), counter.Callers())
	}()
	counter.Get()
	counter.Panic("from the library")
	return nil
}

// nested calls back, deeper than calls are noticed.
//
//go:noinline
func nested(depth int) {
	counter.Call(func(n int) {
		if depth > 0 {
			nested(depth - 1)
			return
		}
		fmt.Println(counter.Callers(), counter.Grow(100), counter.Collect(), counter.Recover(func() { counter.Panic("deep") }))
	})
}

// ends has goroutines end within calls, with others on their stack.
func ends() {
	var all sync.WaitGroup
	for range 3 {
		all.Add(1)
		go func() {
			defer all.Done()
			defer counter.Get()
			counter.Call(func(int) { counter.Exit() })
		}()
	}
	all.Wait()
}

// sorted is called back by a function that makes other calls meanwhile.
func sorted() {
	list := []int{3, 1, 2}
	slices.SortFunc(list, func(a, b int) int { counter.Get(); return a - b })
	fmt.Println(list)
}

// together has two goroutines do something: how often it can be that others see what is between.
func together(what string) {
	steps := map[string]func(){
		"one call":  counter.Increment,
		"two calls": func() { counter.Set(counter.Get() + 1) },
		"a loop": func() {
			for n := 1; n < 3; n++ {
				set(n)
			}
		},
		"looks twice":  func() { fmt.Print(counter.Get(), counter.Get()) },
		"called back":  func() { counter.Call(func(int) {}) },
		"calls inside": func() { counter.Call(func(int) { counter.Get() }) },
		"serves":       func() { <-counter.Serve(func() { handled.Store(true) }) },
		"looks":        func() { fmt.Print(handled.Load(), counter.Get()) },
		"nothing":      func() {},
	}
	first, second := steps[what], steps[os.Args[2]]
	var all sync.WaitGroup
	all.Go(first)
	all.Go(second)
	all.Wait()
	fmt.Println("", counter.Get())
}

// set is called from one place: only that its call has returned tells one from the next.
//
//go:noinline
func set(n int) { counter.Set(n) }
