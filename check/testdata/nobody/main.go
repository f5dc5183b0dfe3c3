// The program dials another address in each order of three goroutines; in one it waits for clients,
// unless it is to dial alone, and in one it panics if it is told to.
package main

import (
	"net"
	"os"
	"slices"
	"sync"
)

func main() {
	var mu sync.Mutex
	var all sync.WaitGroup
	order := ""
	for _, name := range []string{"a", "b", "c"} {
		all.Go(func() {
			mu.Lock()
			order += name
			mu.Unlock()
		})
	}
	all.Wait()
	switch order {
	case "bca":
		if slices.Contains(os.Args, "panic") {
			panic(order)
		}
	case "cba":
		if slices.Contains(os.Args, "alone") {
			return
		}
		l, err := net.Listen("tcp", ":8080")
		if err != nil {
			panic(err)
		}
		l.Accept()
	default:
		port := map[string]string{"abc": "81", "acb": "82", "bac": "83", "cab": "84"}[order]
		net.Dial("tcp", "127.0.0.1:"+port)
	}
}
