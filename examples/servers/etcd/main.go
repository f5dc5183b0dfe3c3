// Etcd counts with go.etcd.io/etcd/client/v3: two goroutines get a number and put the next, and
// a count is lost. With -fixed a transaction puts it only if nobody else has.
package main

import (
	"context"
	"log"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/servers/flags"
)

func increase(ctx context.Context, client *clientv3.Client, compare bool) error {
	for {
		got, err := client.Get(ctx, "visits")
		if err != nil {
			return err
		}
		n, revision := 0, int64(0)
		if len(got.Kvs) > 0 {
			n, _ = strconv.Atoi(string(got.Kvs[0].Value))
			revision = got.Kvs[0].ModRevision
		}
		next := strconv.Itoa(n + 1)
		if !compare {
			_, err := client.Put(ctx, "visits", next)
			return err
		}
		unchanged := clientv3.Compare(clientv3.ModRevision("visits"), "=", revision)
		done, err := client.Txn(ctx).If(unchanged).Then(clientv3.OpPut("visits", next)).Commit()
		if err != nil || done.Succeeded {
			return err
		}
	}
}

func main() {
	fixed := flags.Fixed()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := increase(ctx, client, fixed); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	got, err := client.Get(ctx, "visits")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "2" {
		log.Fatalf("visits: %v, want 2 (%v)", got, err)
	}
}
