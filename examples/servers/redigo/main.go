// Redigo keeps a number with github.com/gomodule/redigo: two goroutines share a connection,
// which is for one at a time, and one gets the other's reply. With -fixed each has a connection
// of a pool.
package main

import (
	"log"
	"sync"

	"github.com/gomodule/redigo/redis"

	"example.com/servers/flags"
)

func main() {
	fixed := flags.Fixed()
	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.Dial("tcp", "127.0.0.1:6379") }}
	defer pool.Close()
	shared := pool.Get()
	defer shared.Close()
	var both sync.WaitGroup
	for _, key := range []string{"a", "b"} {
		both.Go(func() {
			conn := shared
			if fixed {
				conn = pool.Get()
				defer conn.Close()
			}
			got, err := redis.String(conn.Do("ECHO", key))
			if err != nil || got != key {
				log.Fatalf("%s: %q (%v)", key, got, err)
			}
		})
	}
	both.Wait()
}
