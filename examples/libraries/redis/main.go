// Redis counts with github.com/redis/go-redis: two goroutines read a number and store the next,
// and an update can be lost. With -fixed Redis does the adding.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/redis/go-redis/v9"

	"example.com/libraries/flags"
)

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", PoolSize: 2})
	increase := func() error {
		n, err := client.Get(ctx, "visits").Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		return client.Set(ctx, "visits", n+1, 0).Err()
	}
	if flags.Fixed() {
		increase = func() error { return client.Incr(ctx, "visits").Err() }
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := increase(); err != nil {
				panic(err)
			}
		})
	}
	both.Wait()
	if n, err := client.Get(ctx, "visits").Int(); n != 2 {
		fmt.Fprintf(os.Stderr, "%d visits (%v), want 2\n", n, err)
		os.Exit(1)
	}
}
