// Command redis-limit asks a Redis server twice at the same time, with a bounded pool.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewClient(&redis.Options{
		Addr:           "127.0.0.1:6379",
		MaxActiveConns: 2,
	})
	defer client.Close()
	var requests sync.WaitGroup
	for range 2 {
		requests.Go(func() {
			fmt.Println(client.Incr(context.Background(), "visitors").Result())
		})
	}
	requests.Wait()
}
