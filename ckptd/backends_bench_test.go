package ckptd

import (
	"context"
	"slices"
	"testing"
	"time"
)

// BenchmarkBackends has the backends save and bring back the same groups side by side, in
// turns, with a conversation under way: the times are those that a checker waits.
func BenchmarkBackends(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			took := map[string]*[2]samples{}
			groups := map[string]*Group{}
			for _, backend := range []string{BackendCRIU, BackendMemory} {
				_, groups[backend] = withConversation(b, name, backend)
				took[backend] = &[2]samples{}
			}
			for b.Loop() {
				for backend, g := range groups {
					begin := time.Now()
					image, err := g.Checkpoint(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					took[backend][0] = append(took[backend][0], time.Since(begin))
					begin = time.Now()
					if err := g.Restore(context.Background(), image.ID); err != nil {
						b.Fatal(err)
					}
					took[backend][1] = append(took[backend][1], time.Since(begin))
					if err := g.Quiesce(testContext(b), nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			for n, operation := range []string{"checkpoint", "restore"} {
				criu, memory := took[BackendCRIU][n].median(), took[BackendMemory][n].median()
				b.ReportMetric(float64(criu.Microseconds())/1000, "ms-"+operation+"-criu")
				b.ReportMetric(float64(memory.Microseconds())/1000, "ms-"+operation+"-memory")
				b.ReportMetric(float64(criu)/float64(memory), "x-"+operation)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func (s samples) median() time.Duration {
	slices.Sort(s)
	return s[len(s)/2]
}
