// Command held ends in deadlocks, in which others hold what is waited for.
package main

import (
	"os"
	"sync"
)

func main() {
	deadlocks[os.Args[1]]()
}

var deadlocks = map[string]func(){
	"ended": func() {
		var m sync.Mutex
		done := make(chan bool)
		go func() {
			m.Lock() // ended: held
			done <- true
		}()
		<-done
		m.Lock() // ended: waits
	},
	"itself": func() {
		var m sync.Mutex
		m.TryLock() // itself: held
		m.TryLock()
		m.Lock() // itself: waits
	},
	"given on": func() {
		var m sync.Mutex
		m.Lock()
		m.Unlock()
		done := make(chan bool)
		go func() {
			m.Lock() // given on: held
			done <- true
			<-done
		}()
		<-done
		m.Lock() // given on: waits
	},
	"reader": func() {
		var m sync.RWMutex
		done := make(chan bool)
		go func() {
			m.RLock() // reader: held
			done <- true
			<-done
		}()
		m.TryRLock()
		<-done
		m.RUnlock()
		m.Lock() // reader: waits
	},
	"claimant": func() {
		var m sync.RWMutex
		done := make(chan bool)
		m.RLock() // claimant: held
		go func() {
			done <- true
			m.Lock() // claimant: claimed
		}()
		<-done
		for m.TryRLock() { // until it is claimed
			m.RUnlock()
		}
		m.RLock() // claimant: waits
	},
	"writer": func() {
		var m sync.RWMutex
		done := make(chan bool)
		go func() {
			m.Lock()
			m.Unlock()
			m.Lock() // writer: held
			done <- true
			<-done
		}()
		<-done
		m.RLock() // writer: waits
	},
	"group": func() {
		var g sync.WaitGroup
		g.Add(4)
		g.Done()
		go g.Done()
		g.Wait() // group: waits
	},
}
