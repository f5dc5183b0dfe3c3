// Command voter gives its vote to the first of two candidates that ask for it. It looks whether it
// has given it, and then gives it: with -atomic both are one critical section.
package main

import (
	"flag"
	"net"
	"sync"
)

// vote is the vote of this node, which it has once.
type vote struct {
	mu    sync.Mutex
	given bool
}

// isFree says whether it was not given yet.
func (v *vote) isFree() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.given
}

// give gives it away.
func (v *vote) give() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.given = true
}

// giveIfFree gives it away, and says whether it was still there.
func (v *vote) giveIfFree() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.given
	v.given = true
	return !was
}

func main() {
	atomic := flag.Bool("atomic", false, "look and give in one critical section")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:7900")
	if err != nil {
		panic(err)
	}
	var v vote
	var all sync.WaitGroup
	for range 2 {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		all.Go(func() {
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				return // the candidate has ended
			}
			granted := false
			if *atomic {
				granted = v.giveIfFree()
			} else if v.isFree() {
				v.give()
				granted = true
			}
			answer := "n"
			if granted {
				answer = "y"
			}
			_, _ = conn.Write([]byte(answer)) // a candidate that is gone needs none
		})
	}
	all.Wait()
}
