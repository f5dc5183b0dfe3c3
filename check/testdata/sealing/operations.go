package main

import (
	"fmt"
	"strings"
)

// Do performs operations, with pluses in between, and returns what was seen.
//
//go:noinline
func Do(s *State, operations string) (seen string) {
	for _, text := range strings.Split(operations, "+") {
		name, arg, _ := strings.Cut(text, ",")
		seen += " " + do(s, name, int(arg[0]-'0'))
	}
	return seen
}

//go:noinline
func do(s *State, name string, arg int) string {
	m, n, c := &s.Mutexes[arg], &s.Mutexes[1-arg], s.Channels[arg]
	x, y := &s.Numbers[arg], &s.Numbers[1-arg]
	switch name {
	case "lock":
		m.Lock()
	case "unlock":
		m.Unlock()
	case "trylock":
		if !m.TryLock() {
			return "busy"
		}
		m.Unlock()
	case "both":
		m.Lock()
		n.Lock()
		n.Unlock()
		m.Unlock()
	case "rlock":
		s.RW.RLock()
	case "runlock":
		s.RW.RUnlock()
	case "write":
		s.RW.Lock()
		x.Store(1)
		s.RW.Unlock()
	case "add":
		s.Group.Add(1)
	case "done":
		s.Group.Done()
	case "wait":
		s.Group.Wait()
	case "send":
		c <- arg
	case "recv":
		return fmt.Sprint(<-c)
	case "select":
		select {
		case v := <-s.Channels[0]:
			return fmt.Sprint("first ", v)
		case v := <-s.Channels[1]:
			return fmt.Sprint("second ", v)
		}
	case "poll":
		select {
		case v := <-c:
			return fmt.Sprint(v)
		default:
			return "nothing"
		}
	case "load":
		return fmt.Sprint(x.Load())
	case "store":
		x.Store(5)
	case "increase":
		x.Store(x.Load() + 1)
	case "move":
		y.Store(x.Load())
	case "look":
		m.Lock()
		v := x.Load()
		m.Unlock()
		return fmt.Sprint(v)
	default:
		panic("there is no operation " + name)
	}
	return ""
}
