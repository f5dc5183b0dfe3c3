// Command racy is what the tests of the race detector run: the first argument
// names what it does. What begins with "racy" has a data race in every
// schedule; all others have none in any.
package main

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type pair struct{ a, b int }

var (
	number int
	text   string
	both   pair
	word   [8]byte
)

// fork runs functions as goroutines and waits for none of them: the end of
// main comes when all have ended.
func fork(functions ...func()) {
	for _, f := range functions {
		go f()
	}
}

func increment() {
	number++
}

var scenarios = map[string]func(){
	"racy write and write":     func() { fork(increment, increment) },
	"racy write and read":      func() { fork(func() { number = 1 }, func() { _ = text[:number] }) },
	"racy string":              func() { fork(func() { text = "x" }, func() { _ = strings.Clone(text) }) },
	"racy struct and field":    func() { fork(func() { both = pair{1, 2} }, func() { both.b = 3 }) },
	"racy captured variable":   racyCaptured,
	"racy parent":              func() { go increment(); increment() },
	"racy slice element":       func() { s := make([]int, 2); fork(func() { s[1] = 1 }, func() { s[1] = 2 }) },
	"racy append":              racyAppend,
	"racy copy":                func() { s := make([]byte, 9); fork(func() { copy(s, "abc") }, func() { copy(s[2:], "abc") }) },
	"racy map":                 func() { m := map[int]int{}; fork(func() { m[1] = 1 }, func() { m[2] = 2 }) },
	"racy map read":            func() { m := map[string]int{}; fork(func() { m["a"] = 1 }, func() { _ = m["b"] }) },
	"racy map in library":      func() { h := http.Header{}; fork(func() { h.Set("a", "b") }, func() { h.Set("c", "d") }) },
	"racy map iteration":       racyIteration,
	"racy interface":           func() { var e error; fork(func() { e = errors.New("a") }, func() { _ = e == nil }) },
	"racy third reader":        racyThirdReader,
	"racy read lock":           racyReadLock,
	"racy other mutex":         racyOtherMutex,
	"racy after unlock":        racyAfterUnlock,
	"racy atomic and plain":    racyAtomicPlain,
	"racy plain and atomic":    racyPlainAtomic,
	"racy failed swap":         racyFailedSwap,
	"racy store over store":    racyStoreOverStore,
	"racy buffered channel":    racyBuffered,
	"racy wait group":          racyWaitGroup,
	"racy late Add":            racyLateAdd,
	"racy once":                racyOnce,
	"racy timer":               racyTimer,
	"racy timers":              racyTimers,
	"racy sync.Map":            racyMap,
	"racy time.AfterFunc stop": racyStop,
	"racy closure over stack":  racyStack,
	"racy bytes of a word":     func() { fork(func() { word[3] = 1 }, func() { word[3] = 2 }) },
	"racy word over bytes":     func() { fork(func() { word[3] = 1 }, func() { word = [8]byte{1} }) },
	"racy slot of the dead":    racySlot,
	"racy output":              func() { f := func() { number++; print2("x") }; fork(f, f) },
	"racy connection":          racyConnection,

	"connection": connection,
	"pipe":       pipe,
	"file":       file,

	"mutex":             mutex,
	"try lock":          tryLock,
	"rwmutex":           rwmutex,
	"wait group":        waitGroup,
	"once":              once,
	"cond":              cond,
	"channel":           channel,
	"unbuffered":        unbuffered,
	"capacity":          capacity,
	"close":             closing,
	"select":            selecting,
	"atomic":            atomics,
	"atomic value":      atomicValue,
	"atomic pointer":    atomicPointer,
	"sync.Map":          syncMap,
	"pool":              pool,
	"timer":             timers,
	"AfterFunc":         afterFunc,
	"context":           contexts,
	"context AfterFunc": contextAfterFunc,
	"bytes":             func() { fork(func() { word[3] = 1 }, func() { word[4] = 2 }) },
	"fields":            func() { fork(func() { both.a = 1 }, func() { both.b = 2 }) },
	"elements":          func() { s := make([]int8, 16); fork(func() { clear(s[:7]) }, func() { clear(s[7:]) }) },
	"zero-size struct":  zeroSizeStruct,
	"zero-size append":  zeroSizeAppend,
	"zero-size copy":    zeroSizeCopy,
	"zero-size map":     zeroSizeMap,
	"zero-size set":     zeroSizeSet,
	"zero-size channel": zeroSizeChannel,
	"reads":             reads,
	"stacks":            stacks,
	"garbage":           garbage,
	"finalizers":        finalizers,
	"many":              many,
	"handler":           handler,
	"generics":          generics,
	"init":              func() { number++; go func() { _ = started }() },
}

var started = time.Now()

func racyCaptured() {
	total := 0
	for i := range 2 {
		go func() { total += i }()
	}
}

func racyAppend() {
	s := make([]int, 0, 4)
	fork(func() { _ = append(s, 1) }, func() { _ = append(s, 2) })
}

func racyIteration() {
	m := map[int]int{1: 1}
	fork(func() { m[2] = 2 }, func() {
		for k := range m {
			_ = k
		}
	})
}

func racyThirdReader() {
	var wg sync.WaitGroup
	wg.Add(2)
	read := func() { _ = number + 1; wg.Done() }
	fork(read, read, func() { _ = number + 1 })
	wg.Wait()
	number = 1
}

func racyReadLock() {
	var mu sync.RWMutex
	f := func() { mu.RLock(); number++; mu.RUnlock() }
	fork(f, f)
}

func racyOtherMutex() {
	var a, b sync.Mutex
	fork(func() { a.Lock(); number++; a.Unlock() }, func() { b.Lock(); number++; b.Unlock() })
}

func racyAfterUnlock() {
	var mu sync.Mutex
	f := func() { mu.Lock(); mu.Unlock(); number++ }
	fork(f, f)
}

func racyAtomicPlain() {
	var n int64
	fork(func() { atomic.AddInt64(&n, 1) }, func() { n = 7 })
}

func racyPlainAtomic() {
	var n int32
	fork(func() { _ = n + 1 }, func() { atomic.StoreInt32(&n, 1) })
}

func racyFailedSwap() { // a swap that fails tells nobody anything
	var n atomic.Int32
	fork(func() { number = 1; n.CompareAndSwap(5, 6) }, func() { n.Load(); number = 2 })
}

func racyStoreOverStore() { // who sees the second store has not seen the first
	var n atomic.Int32
	fork(func() { number = 1; n.Store(1) }, func() { n.Store(2) }, func() {
		if n.Load() == 2 {
			number = 2
		}
	})
}

func racyBuffered() {
	c := make(chan int, 2)
	go func() { c <- 1; number = 1; c <- 2 }()
	<-c
	number = 2
	<-c
}

func racyWaitGroup() {
	var wg sync.WaitGroup
	wg.Add(1)
	fork(func() { wg.Done(); number = 1 })
	wg.Wait()
	number = 2
}

func racyLateAdd() {
	var wg sync.WaitGroup
	go func() { wg.Add(1); number = 1; wg.Done() }()
	wg.Wait()
	number = 2
}

func racyOnce() {
	var o sync.Once
	f := func() { o.Do(func() {}); number++ }
	fork(f, f)
}

func racyTimer() {
	time.AfterFunc(time.Second, increment)
	increment()
	time.Sleep(time.Minute)
}

func racyTimers() { // that a timer fires later is no order
	time.AfterFunc(time.Second, increment)
	time.AfterFunc(2*time.Second, increment)
	time.Sleep(time.Minute)
}

func racyMap() {
	var m sync.Map
	fork(func() { number = 1; m.Store("a", 1) }, func() { m.Load("b"); number = 2 })
}

func racyStop() {
	t := time.AfterFunc(time.Hour, func() {})
	number = 1
	fork(func() { number = 2; t.Stop() }, func() { t.Stop(); number = 3 })
}

//go:noinline
func set(p *int) { *p = 1 }

func racyStack() {
	n := 0
	done := make(chan bool)
	go func() { set(&n); done <- true }()
	set(&n)
	<-done
}

func racySlot() { // who comes after the end of one goroutine does not come after another's
	done := make(chan bool)
	go func() { done <- true }()
	<-done
	go increment()
	go increment()
}

func print2(text string) { os.Stdout.WriteString(text); os.Stdin.Read(make([]byte, 1)) }

// loopback is both ends of a connection within the program.
func loopback() (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	client, err = net.Dial("tcp", l.Addr().String())
	must(err)
	server, err = l.Accept()
	must(err)
	return client, server
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func racyConnection() { // what goes the other way is no order
	client, server := loopback()
	go func() { number = 1; client.Write([]byte("x")) }()
	client.Read(make([]byte, 1)[:0])
	server.Write([]byte("y"))
	number = 2
}

func connection() {
	client, server := loopback()
	go func() { number = 1; client.Write([]byte("x")) }()
	server.Read(make([]byte, 1))
	number = 2
	server.Close()
}

func pipe() {
	r, w, err := os.Pipe()
	must(err)
	go func() { number = 1; w.Close() }()
	r.Read(make([]byte, 1))
	number = 2
}

func file() {
	name := "/tmp/racy"
	must(os.WriteFile(name, nil, 0o600))
	go func() { number = 1; os.WriteFile(name, []byte("x"), 0o600) }()
	for {
		if b, _ := os.ReadFile(name); len(b) > 0 {
			break
		}
		time.Sleep(time.Second)
	}
	number = 2
}

func mutex() {
	var mu sync.Mutex
	f := func() { mu.Lock(); number++; mu.Unlock() }
	fork(f, f, f)
}

func tryLock() {
	var mu sync.Mutex
	f := func() {
		if mu.TryLock() {
			number++
			mu.Unlock()
		}
	}
	fork(f, f)
}

func rwmutex() {
	var mu sync.RWMutex
	read := func() { mu.RLock(); _ = number + 1; mu.RUnlock() }
	fork(read, func() { mu.Lock(); number++; mu.Unlock() }, read)
}

func waitGroup() {
	var wg sync.WaitGroup
	results := make([]int, 3)
	for i := range results {
		wg.Add(1)
		go func() { defer wg.Done(); results[i] = i }()
	}
	wg.Wait()
	results[0] = results[1] + results[2]
}

func once() {
	var o sync.Once
	f := func() { o.Do(increment); _ = number + 1 }
	get := sync.OnceValue(func() *pair { return &pair{1, 2} })
	fork(f, f, func() { _ = get().a }, func() { _ = get().b })
}

func cond() {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	ready := false
	fork(func() { mu.Lock(); ready = true; mu.Unlock(); c.Broadcast() })
	mu.Lock()
	for !ready {
		c.Wait()
	}
	number++
	mu.Unlock()
}

func channel() {
	c := make(chan *pair, 1)
	go func() { c <- &pair{1, 2} }()
	p := <-c
	p.a++
}

func unbuffered() {
	c := make(chan int)
	go func() { number++; <-c; number++ }()
	c <- 1
	c2 := make(chan int)
	go func() { c2 <- 1; text = "x" }()
	<-c2
}

func capacity() { // the k-th receive comes before the send that is k+C-th
	c := make(chan bool, 1)
	f := func() { c <- true; number++; <-c }
	fork(f, f, f)
}

func closing() {
	c := make(chan bool)
	go func() { number++; close(c) }()
	<-c
	number++
}

func selecting() {
	a, b, done := make(chan int), make(chan int), make(chan bool)
	go func() { number++; a <- 1 }()
	go func() {
		select {
		case <-a:
		case <-b:
		}
		number++
		close(done)
	}()
	select {
	case <-done:
		number++
	}
}

func atomics() {
	var ready atomic.Bool
	var n atomic.Int64
	go func() { number = 1; ready.Store(true); n.Add(1) }()
	if ready.Load() {
		number++
	}
	fork(func() { n.Add(2) }, func() { n.CompareAndSwap(0, 5) }, func() { n.Load() })
}

func atomicValue() {
	var v atomic.Value
	go func() { v.Store(&pair{1, 2}) }()
	if p, ok := v.Load().(*pair); ok {
		p.a++
	}
}

func atomicPointer() {
	var v atomic.Pointer[pair]
	go func() { v.Store(&pair{1, 2}) }()
	go func() { v.CompareAndSwap(nil, &pair{3, 4}) }()
	if p := v.Swap(nil); p != nil {
		p.a++
	}
}

func syncMap() {
	var m sync.Map
	fork(func() { m.Store("a", &pair{1, 2}) }, func() { m.LoadOrStore("a", &pair{3, 4}) })
	if p, ok := m.LoadAndDelete("a"); ok {
		p.(*pair).a++
	}
}

func pool() {
	p := sync.Pool{New: func() any { return new(pair) }}
	f := func() { x := p.Get().(*pair); x.a++; p.Put(x) }
	fork(f, f)
}

func timers() {
	number++
	t := time.NewTimer(time.Second)
	go func() { number++; t.Reset(time.Minute) }()
	<-t.C
	<-time.After(time.Hour)
}

func afterFunc() {
	done := make(chan bool)
	number++
	time.AfterFunc(time.Second, func() { number++; close(done) })
	<-done
	number++
}

func contexts() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	go func() { number++; cancel() }()
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		number++
	}
}

func contextAfterFunc() {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan bool)
	context.AfterFunc(ctx, func() { number++; close(done) })
	number++
	cancel(errors.New("enough"))
	<-done
	number++
}

func reads() {
	number = 1
	read := func() { _ = both.a + number }
	fork(read, read, read)
}

func stacks() { // goroutines get the stacks of those that have ended
	for range 20 {
		done := make(chan bool)
		go func() {
			var a [1000]int
			for i := range a {
				set(&a[i])
			}
			close(done)
		}()
		<-done
	}
	var f func(n int) int
	f = func(n int) int {
		var a [100]int
		set(&a[n%100])
		if n == 0 {
			return 0
		}
		return f(n-1) + a[0]
	}
	fork(func() { f(100) }, func() { f(200) }, func() { f(50) })
}

func garbage() { // memory that was another goroutine's
	work := func() {
		for range 100 {
			p := new([50]int)
			for i := range p {
				set(&p[i])
			}
		}
	}
	go work()
	time.Sleep(time.Second)
	runtime.GC()
	go work()
	time.Sleep(time.Second)
	runtime.GC()
	work()
}

func finalizers() {
	number++
	runtime.SetFinalizer(new(pair), func(*pair) { number++ })
	runtime.AddCleanup(new(pair), func(int) { text = "gone" }, 0)
	runtime.GC()
	time.Sleep(time.Second)
}

func many() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 200 {
		wg.Add(1)
		go func() { defer wg.Done(); mu.Lock(); number++; mu.Unlock() }()
	}
	wg.Wait()
	number++
}

func handler() {
	mux := http.NewServeMux()
	mux.HandleFunc("/{x}", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", r.PathValue("x")) })
	f := func() {
		r, _ := http.NewRequest("GET", "http://host/abc", strings.NewReader(""))
		mux.ServeHTTP(&writer{http.Header{}}, r)
	}
	fork(f, f)
}

type writer struct{ header http.Header }

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) Write(b []byte) (int, error) { return len(b), nil }
func (w *writer) WriteHeader(int)             {}

func generics() {
	m := map[string]pair{"a": {1, 2}, "b": {3, 4}}
	f := func() { _ = slices.Sorted(maps.Keys(m)) }
	fork(f, f)
}

// limits are programs that the detector has no room for.
var limits = map[string]func(){
	"goroutines": func() {
		for range 5000 {
			go func() {}()
			time.Sleep(time.Second)
		}
	},
	"objects": func() {
		variables := make([]atomic.Int32, 60_000)
		for i := range variables {
			variables[i].Store(1)
		}
	},
}

// work is a program that mostly works on memory of its own.
func work() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for n := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			list := make([]int, 200)
			for i := range list {
				list[i] = i * n
			}
			sum := 0
			for _, x := range list {
				sum += x
			}
			mu.Lock()
			total += sum
			mu.Unlock()
		}()
	}
	wg.Wait()
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "list" {
		os.Stdout.WriteString(strings.Join(slices.Sorted(maps.Keys(scenarios)), "\n"))
		return
	}
	switch os.Args[1] {
	case "interpret":
		interpret(os.Args[2])
	case "limit":
		limits[os.Args[2]]()
	case "work":
		work()
	default:
		scenarios[os.Args[1]]()
	}
}
