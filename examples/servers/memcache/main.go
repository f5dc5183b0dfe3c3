// Memcache sells tickets with github.com/bradfitz/gomemcache: two goroutines read how many are
// left and store one less, and a sale is lost. With -fixed the new number is stored only where
// the old one has not changed.
package main

import (
	"errors"
	"log"
	"strconv"
	"sync"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/servers/flags"
)

func sell(client *memcache.Client, compare bool) error {
	for {
		left, err := client.Get("left")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(left.Value))
		if err != nil {
			return err
		}
		left.Value = []byte(strconv.Itoa(n - 1))
		if !compare {
			return client.Set(left)
		}
		if err := client.CompareAndSwap(left); !errors.Is(err, memcache.ErrCASConflict) {
			return err
		}
	}
}

func main() {
	fixed := flags.Fixed()
	client := memcache.New("127.0.0.1:11211")
	if err := client.Set(&memcache.Item{Key: "left", Value: []byte("2")}); err != nil {
		log.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := sell(client, fixed); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	if left, err := client.Get("left"); err != nil || string(left.Value) != "0" {
		log.Fatalf("%s are left, want 0 (%v)", left.Value, err)
	}
}
