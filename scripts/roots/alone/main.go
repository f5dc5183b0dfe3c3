// Command alone has a bug that the newcomer of scripts/roots is to find: two deposits, of which one
// may be lost.
package main

import "sync"

func main() {
	var mu sync.Mutex
	balance := 0
	read := func() int {
		mu.Lock()
		defer mu.Unlock()
		return balance
	}
	write := func(b int) {
		mu.Lock()
		defer mu.Unlock()
		balance = b
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { write(read() + 1) })
	}
	wg.Wait()
	if read() != 2 {
		panic("a deposit is lost")
	}
}
