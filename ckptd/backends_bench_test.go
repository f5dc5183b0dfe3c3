package ckptd

import (
	"context"
	"slices"
	"testing"
	"time"
)

// BenchmarkBackends has the backends save and bring back the same groups side by side, in turns, in
// the middle of a dialogue: the times are those that a checker waits. Under x- is how many times as
// fast memory is. A turn is several times each, of which the first ones do not count: the kernel
// cleans up for a while after the other backend.
func BenchmarkBackends(b *testing.B) {
	for _, d := range dialogues {
		b.Run(d.name, func(b *testing.B) {
			backends := []string{BackendCRIU, BackendMemory}
			var groups []*Group
			var images []string
			var checkpoints, restores [2]samples
			for _, backend := range backends {
				g, image := d.half(b, backend)
				groups, images = append(groups, g), append(images, image)
			}
			for b.Loop() {
				for n, g := range groups {
					const turn, uncounted = 30, 10
					for i := range turn {
						restore, checkpoint := backAndForth(b, g, images[n])
						if i < uncounted {
							continue
						}
						restores[n], checkpoints[n] = append(restores[n], restore),
							append(checkpoints[n], checkpoint)
					}
				}
			}
			reportBoth(b, "checkpoint", checkpoints)
			reportBoth(b, "restore", restores)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// backAndForth takes the group back to an image, to the same place each time so that for the peers
// no time passes, and takes another one there, which is dropped again.
func backAndForth(b *testing.B, g *Group, image string) (restore, checkpoint time.Duration) {
	begin := time.Now()
	if err := g.Restore(context.Background(), image); err != nil {
		b.Fatal(err)
	}
	restore = time.Since(begin)
	if err := g.Quiesce(testContext(b), nil); err != nil {
		b.Fatal(err)
	}
	begin = time.Now()
	taken, err := g.Checkpoint(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	checkpoint = time.Since(begin)
	if err := g.Drop(context.Background(), taken.ID); err != nil {
		b.Fatal(err)
	}
	return restore, checkpoint
}

// half starts the group, has the first half of the dialogue with it, and takes an image.
func (d dialogue) half(b *testing.B, backend string) (*Group, string) {
	g := start(b, spawn(b, Options{Backend: backend, MaxImages: 64}), d.group(b))
	talk := &conversation{t: b, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(b), 1, d.address); err != nil {
		b.Fatal(err)
	}
	talk.listen()
	for _, request := range d.requests[:(len(d.requests)+1)/2] {
		talk.ask(request)
	}
	image, err := g.Checkpoint(testContext(b)) // in which CRIU learns about the kernel
	if err != nil {
		b.Fatal(err)
	}
	return g, image.ID
}

func reportBoth(b *testing.B, operation string, took [2]samples) {
	criu, memory := took[0].median(), took[1].median()
	b.ReportMetric(float64(criu.Microseconds())/1000, "ms-"+operation+"-criu")
	b.ReportMetric(float64(memory.Microseconds())/1000, "ms-"+operation+"-memory")
	b.ReportMetric(float64(criu)/float64(memory), "x-"+operation)
}

func (s samples) median() time.Duration {
	slices.Sort(s)
	return s[len(s)/2]
}

// BenchmarkThousandImages takes a thousand images of merecat in memory, each restored
// before the next one is taken: the cost of the last hundred, over that of the first.
func BenchmarkThousandImages(b *testing.B) {
	for b.Loop() {
		g := start(b, spawn(b, Options{Backend: BackendMemory}), merecat())
		var first, last samples
		for n := range 1000 {
			begin := time.Now()
			image, err := g.Checkpoint(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if err := g.Restore(context.Background(), image.ID); err != nil {
				b.Fatal(err)
			}
			switch took := time.Since(begin); {
			case n < 100:
				first = append(first, took)
			case n >= 900:
				last = append(last, took)
			}
		}
		b.ReportMetric(float64(last.median())/float64(first.median()), "x-last-over-first")
		b.ReportMetric(float64(first.median().Microseconds())/1000, "ms-first")
		b.ReportMetric(float64(last.median().Microseconds())/1000, "ms-last")
	}
	b.ReportMetric(0, "ns/op")
}
