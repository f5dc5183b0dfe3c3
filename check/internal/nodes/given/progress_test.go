package given

import (
	"sync"
	"testing"
)

// TestProgress: what several crews do is counted, and where nobody waits, nothing is.
func TestProgress(t *testing.T) {
	var nobody *Progress
	nobody.Ran(1)
	nobody.Simpler(1, 2)
	var p Progress
	var crews sync.WaitGroup
	for range 4 {
		crews.Go(func() {
			for range 100 {
				p.Ran(1)
			}
		})
	}
	crews.Wait()
	p.Simpler(3, 400)
	if tried, limit := p.Simplified(); p.Executions() != 400 || tried != 3 || limit != 400 {
		t.Errorf("%d executions; %d of %d", p.Executions(), tried, limit)
	}
	p.Simpler(0, 0)
	if _, limit := p.Simplified(); limit != 0 {
		t.Errorf("a violation that is simple by now has a limit of %d", limit)
	}
}
