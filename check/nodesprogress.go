package check

import (
	"sync"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes"
)

// tellNodes has a listener be told several times a second how far a check of nodes is, which began
// at some time. It returns what ends that: afterwards, nothing is told any more. A nil listener is
// told nothing.
func tellNodes(c *nodes.Config, listener Listener, began time.Time) (end func()) {
	if listener.Progress == nil {
		return func() {}
	}
	c.Progress = &nodes.Progress{}
	ticker, ended := time.NewTicker(progressInterval), make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				listener.Progress(nodesProgress(c.Progress, time.Since(began)))
			}
		}
	})
	return func() {
		ticker.Stop()
		close(ended)
		busy.Wait()
	}
}

// nodesProgress is how far a check of nodes is. Executions are those of single nodes.
func nodesProgress(p *nodes.Progress, elapsed time.Duration) (now Progress) {
	now.Verdict.Executions, now.Counts.Elapsed = p.Executions(), elapsed
	now.Tried, now.Limit = p.Simplified()
	return now
}
