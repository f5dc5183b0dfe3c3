package batch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestDo: each job is done once, by a crew that does nothing else meanwhile, and results are in
// order. After a job that is the last one, no others are begun.
func TestDo(t *testing.T) {
	for _, crews := range []int{1, 2, 5} {
		for _, jobs := range []int{0, 1, 4, 50} {
			busy := make([]sync.Mutex, crews)
			got := Do(crews, jobs, func(crew, job int) (int, bool) {
				if !busy[crew].TryLock() {
					t.Errorf("crew %d does two jobs", crew)
					return job, false
				}
				defer busy[crew].Unlock()
				return job, false
			})
			want := make([]int, jobs)
			for i := range want {
				want[i] = i
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d crews: %v, want %v", crews, got, want)
			}
			const last = 3
			got = Do(crews, jobs, func(_, job int) (int, bool) { return job + 1, job == last })
			if len(got) < min(jobs, last+1) || len(got) > last+crews || slices.Contains(got, 0) {
				t.Errorf("%d crews, and the last job is %d: %v", crews, last, got)
			}
		}
	}
}

// TestShare: whoever does a job, and whatever comes back, the results are those of crews alone, and
// there is one of each job up to the last.
func TestShare(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		crews, jobs, last := 1+random.IntN(3), random.IntN(12), random.IntN(24)
		var may, fails []bool
		for range jobs {
			may, fails = append(may, random.IntN(3) > 0), append(fails, random.IntN(5) == 0)
		}
		var mu sync.Mutex
		begun := make([]int, jobs)
		note := func(job int) {
			mu.Lock()
			defer mu.Unlock()
			begun[job]++
		}
		away := &Away[int]{Most: random.IntN(4), May: func(job int) bool { return may[job] },
			Patience: time.Hour, Do: func(_ context.Context, job int) (int, bool, bool) {
				if !may[job] {
					t.Errorf("seed %d: job %d is done elsewhere", seed, job)
				}
				if fails[job] {
					return -1, false, false
				}
				note(job)
				return job + 1, job == last, true
			}}
		got := Share(crews, jobs, func(_, job int) (int, bool) {
			note(job)
			return job + 1, job == last
		}, away)
		if len(got) < min(jobs, last+1) {
			t.Errorf("seed %d: %d results of %d jobs, and the last is %d", seed, len(got), jobs, last)
		}
		for job, result := range got {
			if result != job+1 || begun[job] != 1 {
				t.Errorf("seed %d: job %d has the result %d, and was done %d times", seed, job, result,
					begun[job])
			}
		}
	}
}

// TestShareWaits: a job that comes back when the crew has nothing else to do is done by the crew.
func TestShareWaits(t *testing.T) {
	here := make(chan struct{})
	got := Share(1, 2, func(_, job int) (int, bool) {
		if job == 0 {
			close(here)
		}
		return job + 1, false
	}, &Away[int]{Most: 1, Patience: time.Hour, May: func(job int) bool { return job == 1 },
		Do: func(context.Context, int) (int, bool, bool) {
			<-here
			return 0, false, false
		}})
	if !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
}

// TestShareInTime: a crew does not wait for ever for a job that is away. Whoever does it is told
// when that is over.
func TestShareInTime(t *testing.T) {
	got := Share(1, 2, func(_, job int) (int, bool) { return job + 1, false }, &Away[int]{Most: 1,
		Patience: time.Millisecond, May: func(job int) bool { return job == 1 },
		Do: func(ctx context.Context, _ int) (int, bool, bool) {
			<-ctx.Done()
			return 0, false, false
		}})
	if !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
}

// TestEnd: batches follow each other without a gap, and are small at first.
func TestEnd(t *testing.T) {
	var ends []uint64
	for done := uint64(0); done < 48; done = End(done) {
		for n := done; n < End(done); n++ {
			if End(n) != End(done) {
				t.Errorf("job %d ends with %d, and job %d with %d", n+1, End(n), done+1, End(done))
			}
		}
		ends = append(ends, End(done))
	}
	want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48}
	if !slices.Equal(ends, want) {
		t.Errorf("batches end with %v, want %v", ends, want)
	}
}
