// Command table is a part of a long round table. Its philosophers are goroutines, and the forks
// between them are mutexes. The fork at its right end is also used by the part that is next to it,
// which asks for it over the network. Everybody eats once.
package main

import (
	"flag"
	"net"
	"sync"
)

// remote is the fork at the left end, which the part before this one has.
type remote struct{ conn net.Conn }

// Lock asks for the fork, and waits until it is there.
func (f remote) Lock() {
	if _, err := f.conn.Write([]byte("?")); err != nil {
		panic(err)
	}
	if _, err := f.conn.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
}

// Unlock gives the fork back.
func (f remote) Unlock() {
	if _, err := f.conn.Write([]byte("!")); err != nil {
		panic(err)
	}
}

// serve lends a fork once.
func serve(conn net.Conn, fork sync.Locker) {
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	fork.Lock()
	if _, err := conn.Write([]byte("!")); err != nil {
		panic(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	fork.Unlock()
}

func main() {
	listen := flag.String("listen", "", "`address` at which the fork at the right end is lent")
	left := flag.String("left", "", "`address` of the fork at the left end")
	seats := flag.Int("seats", 8, "how many philosophers there are")
	wary := flag.Bool("wary", false, "the last one takes the right fork first, so that no circle closes")
	flag.Parse()

	l, err := net.Listen("tcp", *listen)
	if err != nil {
		panic(err)
	}
	conn, err := net.Dial("tcp", *left)
	if err != nil {
		panic(err)
	}
	borrower, err := l.Accept()
	if err != nil {
		panic(err)
	}

	forks := make([]sync.Locker, *seats+1)
	forks[0] = remote{conn}
	for i := 1; i < len(forks); i++ {
		forks[i] = new(sync.Mutex)
	}
	meals := make([]int, *seats)
	var all sync.WaitGroup
	all.Go(func() { serve(borrower, forks[*seats]) })
	for i := range *seats {
		first, second := forks[i], forks[i+1]
		if *wary && i == *seats-1 {
			first, second = second, first
		}
		all.Go(func() {
			first.Lock()
			second.Lock()
			meals[i]++
			second.Unlock()
			first.Unlock()
		})
	}
	all.Wait()
}
