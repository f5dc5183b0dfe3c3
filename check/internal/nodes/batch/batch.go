// Package batch does numbered jobs by several crews at the same time.
package batch

import (
	"sync"
	"sync/atomic"
)

// Do has crews do jobs, which are numbered from 0 on: each crew one job after the other. It returns
// the results in the order of the jobs. A job may say that nobody needs those after it: then no
// more are begun, and the results end with the last one that was.
func Do[R any](crews, jobs int, do func(crew, job int) (result R, last bool)) []R {
	results := make([]R, jobs)
	var next atomic.Int64
	var ends atomic.Bool
	var group sync.WaitGroup
	for crew := range min(crews, jobs) {
		group.Go(func() {
			for !ends.Load() {
				job := int(next.Add(1)) - 1
				if job >= jobs {
					return
				}
				var last bool
				if results[job], last = do(crew, job); last {
					ends.Store(true)
				}
			}
		})
	}
	group.Wait()
	return results[:min(int(next.Load()), jobs)]
}

// End is how many jobs there are up to the end of the batch in which job done+1 is. All jobs of a
// batch know the same of earlier ones, however many crews there are. The first batches are small,
// since a little is soon worth knowing.
func End(done uint64) uint64 {
	size := uint64(1)
	for size < Most && done >= 8*size {
		size *= 2
	}
	return (done/size + 1) * size
}

// Most is how large a batch is at most. More crews than that would have nothing to do.
const Most = 8
