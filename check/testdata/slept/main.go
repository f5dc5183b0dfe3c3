// Command slept fails after it has slept.
package main

import (
	"sync"
	"time"
)

func main() {
	var m sync.Mutex
	m.Lock()
	m.Unlock()
	pause()
	panic("after the pause")
}

func pause() {
	time.Sleep(time.Second)
}
