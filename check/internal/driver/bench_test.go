package driver

import (
	"fmt"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

// BenchmarkMisses is what a miss costs in an execution of so many, with clients as peers. It does
// not grow with their number. For comparison, in the runs named "walked" the way from the root is
// walked at each miss, to find out what has become of the group and what a checkpoint would save.
func BenchmarkMisses(b *testing.B) {
	for _, depth := range []int{100, 1_000, 10_000} {
		for _, walked := range []bool{false, true} {
			if walked && depth > 1_000 {
				continue // it takes minutes
			}
			name := fmt.Sprint(depth)
			if walked {
				name += "/walked"
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					missAll(b, depth, walked)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/miss")
			})
		}
	}
}

// missAll gives so many inputs that the cache does not know.
func missAll(b *testing.B, depth int, walked bool) {
	world := &fakeWorld{images: map[string]fakeState{}}
	c := Config{Start: world.start, Strategy: strategy.Never{}}
	c.Spec.Peers = []peers.Peer{{Name: "server"}, {Name: "client", After: "listen 80"}}
	d := New(b.Context(), c)
	defer d.Close()
	s := d.NewSession(&Counts{})
	s.Rewind()
	in := model.Input{Kind: model.Listen, Addr: "0.0.0.0:80"}
	for range depth {
		if _, err := s.Exchange(in); err != nil {
			b.Fatal(err)
		}
		in = model.Input{Kind: model.Send, Conn: 1, Data: []byte("x\n")}
		if g := d.groups[0]; walked {
			g.way = nil
			if _, err := d.naming.historyOf(g.at); err != nil {
				b.Fatal(err)
			}
			g.wayOf(d.cache, iocache.Root)
			d.cache.Distance(g.at, s.cursor.At())
		}
	}
	if s.Counts.Misses != depth {
		b.Fatalf("%d misses, want %d", s.Counts.Misses, depth)
	}
}
