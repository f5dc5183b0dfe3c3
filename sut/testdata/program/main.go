// Command program is what the tests of package sut run: the first argument
// names what it does.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/smtp"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem"
)

// dance panics when its arguments are not used any more.
//
//go:noinline
func dance(feet int, how string) int {
	if feet+len(os.Args) > 0 {
		panic("at the disco")
	}
	return len(how)
}

var scenarios = map[string]func(){
	"deadlock":    deadlock,
	"serve":       serve,
	"serve one":   serveOne,
	"serve both":  serveBoth,
	"serve stuck": serveStuck,
	"panic":       func() { dance(2, "feet") },
	"verbose":     verbose,
	"stopwatch": func() {
		for start := time.Now(); time.Since(start) < time.Second; {
		}
	},
	"nil":  func() { var p *int; *p = 1 },
	"exit": func() { os.Exit(3) },
	"greeted": func() { // by a server that says nothing
		go smtp.Dial("127.0.0.1:7777")
		wait := make(chan int, 1)
		for range 4 {
			wait <- 0
			<-wait
		}
		os.Exit(3)
	},
	"assert":       func() { tandem.Assert(1 > 2, "one is ", "small") },
	"fatal":        func() { var m sync.Mutex; m.Unlock() },
	"choose":       func() { fmt.Print(tandem.Choose(3), tandem.Choose(2)) },
	"estimate":     estimate,
	"publish":      publish,
	"addresses":    addresses,
	"meanwhile":    meanwhile,
	"datagrams":    datagrams,
	"states":       func() { states(func() any { return nil }) },
	"no state":     func() { states(func() any { return func() {} }) },
	"timers":       func() { timers(time.Minute) },
	"short timers": func() { timers(10 * time.Millisecond) },
	"signals":      signals,
	"date":         date,
	"select":       selects,
	"primitives":   primitives,
	"memory":       memory,
	"counter":      counter,
	"spinlock":     spinlock,
	"walk":         walk,
	"files":        files,
	"one file":     oneFile,
	"surroundings": surroundings,
	"traced":       func() { traced(os.Args[1], os.Getenv("HOME")) },
	"overflow":     func() { debug.SetMaxStack(16 << 20); overflow(1) },
	"overflow all": func() { overflow(1) },
	"process":      func() { os.ReadFile("/proc/stat") },
	"device":       func() { os.Open("/dev/ptmx") },
	"subprocess":   func() { exec.Command("true").Run() },
	"raw":          func() { syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0) },
	"hosts": func() {
		for _, name := range []string{"example.test", "localhost", "nowhere.test"} {
			fmt.Println(net.LookupHost(name))
		}
	},
	"ping": func() { net.Dial("ip4:icmp", "127.0.0.1") },
	"spin": func() {
		for {
			spun++
		}
	},
	"threads":     threads,
	"random":      random,
	"sealed":      sealed,
	"echo":        echo,
	"deadline":    func() { deadline(time.Minute) },
	"in a second": func() { deadline(time.Second) },
	"closereader": closeReader,
	"exchanges":   exchanges,
	"two talk":    twoTalk,
	"try":         try,
	"goroutines": func() {
		for range 5000 {
			go select0()
		}
		select {}
	},
	"endless": func() {
		for {
			tick.Add(1)
		}
	},
	"output":   func() { fmt.Println("to stdout"); fmt.Fprintln(os.Stderr, "to stderr") },
	"at times": printAtTimes,
	"environment": func() {
		fmt.Println(os.Args[2:], os.Getenv("GIVEN"), os.Getenv("HOME"), os.Getpid(), len(os.Environ()))
	},
}

var (
	spun int
	tick atomic.Int64
)

func main() {
	scenarios[os.Args[1]]()
}

func select0() { select {} }

func deadlock() {
	var a, b sync.Mutex
	done := make(chan bool)
	go func() {
		a.Lock()
		b.Lock()
		b.Unlock()
		a.Unlock()
		done <- true
	}()
	b.Lock()
	a.Lock()
	a.Unlock()
	b.Unlock()
	<-done
}

// timers takes ninety units of virtual time, and says what fired when.
func timers(unit time.Duration) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 90*unit)
	defer cancel()
	ticker := time.NewTicker(20 * unit)
	after := time.After(30 * unit)
	var said []string
	for {
		select {
		case <-ticker.C:
			said = append(said, "tick", time.Since(start).String())
		case <-after:
			said = append(said, "after", time.Since(start).String())
		case <-ctx.Done():
			fmt.Println(strings.Join(said, " "), errors.Is(ctx.Err(), context.DeadlineExceeded), start.UTC().Format(time.RFC3339))
			return
		}
	}
}

// signals are handled, while goroutines read the clock and sleep.
func signals() {
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGINT)
	var n atomic.Int32
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			start := time.Now()
			n.Add(1)
			time.Sleep(10 * time.Millisecond)
			if time.Since(start) > 0 {
				n.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case <-arrived:
	default:
	}
}

// date says what time it is, and what time a day later.
func date() {
	now := time.Now().UTC().Format(time.RFC3339)
	time.Sleep(24 * time.Hour)
	fmt.Println(now, time.Now().UTC().Format(time.RFC3339))
}

// selects has three ready arms, and says which one was taken.
func selects() {
	a, b, c := make(chan int, 1), make(chan int, 1), make(chan int)
	a <- 1
	close(c)
	select {
	case <-a:
		fmt.Print("a")
	case b <- 2:
		fmt.Print("b")
	case <-c:
		fmt.Print("c")
	}
	select {
	case <-make(chan int):
		fmt.Print("never")
	default:
		fmt.Print(" default")
	}
}

// primitives uses everything that is a visible operation once.
func primitives() {
	var (
		rw   sync.RWMutex
		m    sync.Mutex
		wg   sync.WaitGroup
		once sync.Once
		smap sync.Map
		n    atomic.Int32
		p    atomic.Pointer[int]
		v    atomic.Value
		cond = sync.NewCond(&m)
		full bool
	)
	for i := range 3 {
		wg.Go(func() {
			once.Do(func() { n.Add(10) })
			rw.RLock()
			n.Add(1)
			rw.RUnlock()
			rw.Lock()
			smap.Store(i, i)
			rw.Unlock()
			p.Store(&i)
			v.Store(i)
			if m.TryLock() {
				m.Unlock()
			}
		})
	}
	go func() {
		m.Lock()
		full = true
		cond.Broadcast()
		m.Unlock()
	}()
	m.Lock()
	for !full {
		cond.Wait()
	}
	m.Unlock()
	wg.Wait()
	count := 0
	smap.Range(func(any, any) bool { count++; return true })
	fmt.Println(n.Load(), count, p.Load() != nil, v.Load() != nil)
}

var kept = map[string][]byte{}

// memory changes what it finds, touches much that it has not touched before, and
// says what it found.
func memory() {
	if len(kept) != 0 || tick.Load() != 0 || spun != 0 {
		panic("something is left of an earlier execution")
	}
	size := 1 << (10 + 3*tandem.Choose(5))
	block := make([]byte, size)
	for i := range block {
		if block[i] != 0 {
			panic("fresh memory is not zero")
		}
		block[i] = byte(i) | 1
	}
	kept[fmt.Sprint(size)] = block
	tick.Add(1)
	spun = size
	deep(tandem.Choose(3) * 1000)
}

// deep grows the stack.
func deep(n int) int {
	var pad [64]int
	if n == 0 {
		return 0
	}
	pad[n%64] = n
	return deep(n-1) + pad[n%64]
}

// counter loses an update in some schedules.
func counter() {
	var n atomic.Int32
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { n.Store(n.Load() + 1) })
	}
	wg.Wait()
	fmt.Print(n.Load())
}

func threads() {
	done := make(chan int)
	go func() {
		defer close(done)
		tandem.Assert(os.Getpid() > 0)
	}()
	<-done
	fmt.Print("one thread")
}

// random draws from several goroutines at once.
func random() {
	var wg sync.WaitGroup
	var drawn [3]string
	for i := range drawn {
		wg.Go(func() {
			n, err := rand.Int(rand.Reader, big.NewInt(1<<40))
			m := map[int]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9}
			for k := range m {
				drawn[i] += fmt.Sprint(k)
			}
			drawn[i] += fmt.Sprint(n, err)
		})
	}
	wg.Wait()
	fmt.Println(drawn)
}

// spinlock has three goroutines that wait for a lock and for a flag without blocking.
func spinlock() {
	var lock, done atomic.Int32
	for range 2 {
		go func() {
			for !lock.CompareAndSwap(0, 1) {
			}
			lock.Store(0)
			done.Add(1)
		}()
	}
	for done.Load() != 2 {
	}
}

// walk has three goroutines that store into the same variable, four times and twice and once. One
// starts another in between, and each does something else, too.
func walk() {
	var shared, other atomic.Int32
	var wg sync.WaitGroup
	order := ""
	note := func(name string) { shared.Store(1); order += name }
	wg.Go(func() {
		for i := range 4 {
			if i == 2 {
				wg.Go(func() { other.Load(); note("c") })
			}
			note("a")
		}
	})
	wg.Go(func() {
		for range 2 {
			for range 5 {
				other.Store(2)
			}
			note("b")
		}
	})
	wg.Wait()
	fmt.Print(order)
}

// sealed locks in the standard library, where goroutines are not preempted.
func sealed() {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { _ = fmt.Sprint(errors.Join(errors.New("x")), i, big.NewInt(7)) })
	}
	wg.Wait()
}

func dial() net.Conn {
	c, err := net.Dial("tcp", "127.0.0.1:7777")
	if err != nil {
		fmt.Print(err)
		os.Exit(0)
	}
	return c
}

func echo() {
	c := dial()
	defer c.Close()
	fmt.Fprint(c, strings.Repeat("x", 600_000))
	c.(*net.TCPConn).CloseWrite()
	total := 0
	b := make([]byte, 100_000)
	for {
		n, err := c.Read(b)
		total += n
		if err != nil {
			fmt.Print(total, " ", err, " ", c.LocalAddr().(*net.TCPAddr).IP, " ", c.RemoteAddr())
			return
		}
	}
}

func deadline(most time.Duration) {
	c := dial()
	start := time.Now()
	c.SetReadDeadline(start.Add(most))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	fmt.Print(errors.As(err, &timeout) && timeout.Timeout(), " ", time.Since(start))
	c.SetReadDeadline(time.Time{})
	file, err := c.(*net.TCPConn).File()
	fmt.Print(" ", file != nil, " ", err)
	if raw, err := c.(*net.TCPConn).SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			fmt.Print(" ", syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1))
		})
	}
}

func closeReader() {
	c := dial()
	done := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	c.Close()
	fmt.Print(errors.Is(<-done, net.ErrClosed))
}

// exchanges sends and reads one byte a thousand times.
func exchanges() {
	c := dial()
	b := []byte{1}
	for range 1000 {
		c.Write(b)
		c.Read(b)
	}
}

// verbose prints 3 MiB to each of its outputs, and then panics.
func verbose() {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		for range 6 {
			fmt.Fprintln(f, strings.Repeat("x", 1<<19))
		}
	}
	panic("at the end")
}

// traced panics where the trace shows the addresses of its arguments: it would need them again.
//
//go:noinline
func traced(argument, environment string) string {
	fail(len(argument) + len(environment))
	return argument + environment
}

//go:noinline
func fail(length int) {
	if length > 0 {
		panic(length)
	}
}

// publish publishes from two goroutines, the second time something else.
func publish() {
	done := make(chan bool)
	go func() {
		tandem.Publish("decided", "")
		done <- true
	}()
	tandem.Publish("decided", 7)
	<-done
	tandem.Publish("term 3", "node \x00a")
	fmt.Print("published")
}

// estimate says in two transitions how near it is to a violation, in one of them very often.
func estimate() {
	var n atomic.Int32
	tandem.Estimate(7)
	n.Add(1)
	for i := range 1_000_000 {
		tandem.Estimate(-i)
	}
	n.Add(1)
	tandem.Estimate(-999_999)
}

// states has two goroutines count to 3 again and again, and name where they are. What else they
// name has no hash perhaps.
func states(more func() any) {
	var mu sync.Mutex
	counts := map[string]int{"a": 0, "b": 0}
	loop := func(who string) {
		for range 30 {
			mu.Lock()
			counts[who] = (counts[who] + 1) % 3
			tandem.State([]any{counts, more()})
			mu.Unlock()
		}
	}
	go loop("b")
	loop("a")
	fmt.Print("done")
}
