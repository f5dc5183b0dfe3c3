// Command semaphores has two goroutines that take the same two semaphores, in opposite
// orders unless it has an argument.
package main

import (
	"context"
	"os"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

func main() {
	a, b := semaphore.NewWeighted(1), semaphore.NewWeighted(1)
	both := func(first, second *semaphore.Weighted) func() error {
		return func() error {
			for _, s := range []*semaphore.Weighted{first, second} {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return err
				}
				defer s.Release(1)
			}
			return nil
		}
	}
	var g errgroup.Group
	g.Go(both(a, b))
	if len(os.Args) == 1 {
		g.Go(both(b, a))
	} else {
		g.Go(both(a, b))
	}
	if err := g.Wait(); err != nil {
		panic(err)
	}
}
