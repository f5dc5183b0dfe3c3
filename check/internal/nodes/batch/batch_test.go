package batch

import (
	"slices"
	"sync"
	"testing"
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
