package counter

import (
	"sync"
	"testing"
)

func TestCounter(t *testing.T) {
	var c Counter
	var wg sync.WaitGroup
	wg.Go(func() { c.Add() })
	wg.Go(func() { c.Add() })
	wg.Wait()
	if n := c.Add(); n != 3 {
		t.Errorf("%d, want 3", n)
	}
}
