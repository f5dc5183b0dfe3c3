// Memcache counts with github.com/bradfitz/gomemcache: of two goroutines that store what they
// have added to, one can be lost. With -fixed they compare and swap, and try again.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/libraries/flags"
)

func main() {
	fixed := flags.Fixed()
	client := memcache.New("127.0.0.1:11211")
	if err := client.Set(&memcache.Item{Key: "visits", Value: []byte("0")}); err != nil {
		panic(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			store := client.Set
			if fixed {
				store = client.CompareAndSwap
			}
			err := increase(client, store)
			for errors.Is(err, memcache.ErrCASConflict) {
				err = increase(client, store)
			}
			if err != nil {
				panic(err)
			}
		})
	}
	both.Wait()
	if item, err := client.Get("visits"); err != nil || string(item.Value) != "2" {
		fmt.Fprintf(os.Stderr, "%s visits (%v), want 2\n", item.Value, err)
		os.Exit(1)
	}
}

func increase(client *memcache.Client, store func(*memcache.Item) error) error {
	item, err := client.Get("visits")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(item.Value))
	if err != nil {
		return err
	}
	item.Value = strconv.AppendInt(nil, int64(n+1), 10)
	return store(item)
}
