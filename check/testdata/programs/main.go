// Command programs interprets a small concurrent program, given as its argument:
// the capacities of the channels, then each goroutine, the first being main, all
// separated by slashes. An instruction is a name and numbers, separated by commas.
//
//	0,1/go,1 send,0 wait/lock,0 recv,0 unlock,0
//
// Each goroutine prints what it observes, a line at a time, after its number.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

type instruction struct {
	name string
	args []int
}

func (in instruction) arg(i int) int {
	if i < len(in.args) {
		return in.args[i]
	}
	return 0
}

// index is the first argument where that is one of n things.
func (in instruction) index(n int) int { return max(0, min(in.arg(0), n-1)) }

// The program and all that it shares.
var (
	bodies   [][]instruction
	channels []chan int // the last one is nil
	mutexes  [2]sync.Mutex
	rw       sync.RWMutex
	wg       sync.WaitGroup
	once     sync.Once
	cond     = sync.NewCond(&mutexes[0])
	numbers  [2]atomic.Int32
	pointer  atomic.Pointer[int]
	table    sync.Map

	ctx, cancel = context.WithCancel(context.Background())
)

// Parsing is over before the first execution begins.
func init() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "no program: see the comment at the top of the source")
		os.Exit(2)
	}
	parts := strings.Split(os.Args[1], "/")
	for _, capacity := range parse(parts[0]).args {
		channels = append(channels, make(chan int, capacity))
	}
	channels = append(channels, nil)
	for _, part := range parts[1:] {
		var body []instruction
		for _, text := range strings.Fields(part) {
			body = append(body, parse(text))
		}
		bodies = append(bodies, body)
	}
}

func parse(text string) (in instruction) {
	for i, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(field)
		switch {
		case err == nil:
			in.args = append(in.args, n)
		case i == 0:
			in.name = field
		default:
			panic("cannot parse " + text)
		}
	}
	return in
}

func main() { goroutine(0) }

func goroutine(number int) {
	g := &interpreter{number: number}
	defer g.last()
	g.run(bodies[number])
}

type interpreter struct {
	number int
	sent   int
}

func (g *interpreter) observe(what ...any) {
	line := []byte(fmt.Sprintln(append([]any{g.number}, what...)...))
	syscall.Write(1, line)
}

func (g *interpreter) last() {
	if e := recover(); e != nil {
		g.observe("panic:", e)
		panic(e)
	}
	g.observe("end")
}

func (g *interpreter) run(body []instruction) {
	for pc := 0; pc < len(body); pc++ {
		in := body[pc]
		if in.name == "once" {
			inside := body[pc+1 : pc+1+in.arg(0)]
			once.Do(func() { g.run(inside) })
			g.observe("once")
			pc += len(inside)
			continue
		}
		if skipped := g.try(in); skipped >= 0 {
			pc += skipped
			continue
		}
		if !g.channel(in) && !g.lock(in) && !g.wait(in) {
			g.other(in)
		}
	}
}

// try performs an instruction that, if it fails, skips others; -1 if it is none.
func (g *interpreter) try(in instruction) int {
	var done bool
	var skip int
	switch in.name {
	case "trylock":
		done, skip = mutexes[in.arg(0)].TryLock(), in.arg(1)
	case "tryrlock":
		done, skip = rw.TryRLock(), in.arg(0)
	case "trywlock":
		done, skip = rw.TryLock(), in.arg(0)
	default:
		return -1
	}
	g.observe(in.name, done)
	if done {
		return 0
	}
	return skip
}

// value is a number that nobody else sends.
func (g *interpreter) value() int {
	g.sent++
	return 100*(g.number+1) + g.sent
}

func (g *interpreter) channel(in instruction) bool {
	c := channels[in.index(len(channels))]
	switch in.name {
	case "send":
		c <- g.value()
	case "recv":
		v, ok := <-c
		g.observe("recv", v, ok)
		return true
	case "close":
		close(c)
	case "len":
		g.observe("len", len(c), cap(c))
		return true
	case "select":
		g.selects(in)
		return true
	case "cancel":
		cancel()
	case "done":
		<-ctx.Done()
	case "err":
		g.observe("err", ctx.Err() != nil)
		return true
	default:
		return false
	}
	g.observe(in.name)
	return true
}

// selects has two arms, in.args[1] and in.args[3], with channels in.args[2] and
// in.args[4]: 0 sends, 1 receives, 2 waits for the context, 3 is none. If
// in.args[0] is 1, there is a default.
func (g *interpreter) selects(in instruction) {
	c, d := channels[in.arg(2)], channels[in.arg(4)]
	v := g.value()
	switch form := fmt.Sprint(in.arg(1), in.arg(3), in.arg(0)); form {
	case "0 0 0":
		select {
		case c <- v:
			g.observe("A")
		case d <- v:
			g.observe("B")
		}
	case "0 0 1":
		select {
		case c <- v:
			g.observe("A")
		case d <- v:
			g.observe("B")
		default:
			g.observe("D")
		}
	case "1 0 0":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case d <- v:
			g.observe("B")
		}
	case "1 0 1":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case d <- v:
			g.observe("B")
		default:
			g.observe("D")
		}
	case "1 1 0":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case v, ok := <-d:
			g.observe("B", v, ok)
		}
	case "1 1 1":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case v, ok := <-d:
			g.observe("B", v, ok)
		default:
			g.observe("D")
		}
	default:
		g.selectsOther(form, c, v)
	}
}

func (g *interpreter) selectsOther(form string, c chan int, v int) {
	switch form {
	case "0 2 0":
		select {
		case c <- v:
			g.observe("A")
		case <-ctx.Done():
			g.observe("B")
		}
	case "1 2 0":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case <-ctx.Done():
			g.observe("B")
		}
	case "1 2 1":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		case <-ctx.Done():
			g.observe("B")
		default:
			g.observe("D")
		}
	case "0 3 1":
		select {
		case c <- v:
			g.observe("A")
		default:
			g.observe("D")
		}
	case "1 3 1":
		select {
		case v, ok := <-c:
			g.observe("A", v, ok)
		default:
			g.observe("D")
		}
	default:
		panic("no select of the form " + form)
	}
}

func (g *interpreter) lock(in instruction) bool {
	switch in.name {
	case "lock":
		mutexes[in.arg(0)].Lock()
	case "unlock":
		mutexes[in.arg(0)].Unlock()
		return true
	case "rlock":
		rw.RLock()
	case "runlock":
		rw.RUnlock()
		return true
	case "wlock":
		rw.Lock()
	case "wunlock":
		rw.Unlock()
		return true
	default:
		return false
	}
	g.observe(in.name)
	return true
}

func (g *interpreter) wait(in instruction) bool {
	switch in.name {
	case "add":
		wg.Add(in.arg(0))
		return true
	case "wait":
		wg.Wait()
	case "wggo":
		wg.Go(func() { goroutine(in.arg(0)) })
		return true
	case "go":
		go goroutine(in.arg(0))
		return true
	case "condwait":
		cond.Wait()
	case "signal":
		cond.Signal()
	case "broadcast":
		cond.Broadcast()
	default:
		return false
	}
	g.observe(in.name)
	return true
}

func (g *interpreter) other(in instruction) {
	n := &numbers[in.index(len(numbers))]
	switch in.name {
	case "load":
		g.observe("load", n.Load())
	case "store":
		n.Store(int32(in.arg(1)))
	case "addto":
		g.observe("addto", n.Add(int32(in.arg(1))))
	case "swap":
		g.observe("swap", n.Swap(int32(in.arg(1))))
	case "cas":
		g.observe("cas", n.CompareAndSwap(int32(in.arg(1)), int32(in.arg(2))))
	case "and":
		g.observe("and", n.And(int32(in.arg(1))))
	case "or":
		g.observe("or", n.Or(int32(in.arg(1))))
	case "point":
		g.observe("point", pointer.CompareAndSwap(nil, new(int)))
	case "keep":
		v, loaded := table.LoadOrStore(in.arg(0), in.arg(1))
		g.observe("keep", v, loaded)
	case "drop":
		v, loaded := table.LoadAndDelete(in.arg(0))
		g.observe("drop", v, loaded)
	case "yield":
		runtime.Gosched()
	case "die":
		runtime.Gosched() // a panic by itself is no place where others could go first
		panic("die")
	case "leave":
		runtime.Goexit()
	default:
		panic("unknown instruction " + in.name)
	}
}
