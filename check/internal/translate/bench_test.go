package translate

import (
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// BenchmarkSchedule is what it costs to turn a schedule of the search into that of a worker.
func BenchmarkSchedule(b *testing.B) {
	var s explore.Schedule
	for i := range 1000 {
		s.Prefix = append(s.Prefix, explore.Action{Goroutine: explore.GoroutineID(i%7 + 1), Choice: i % 2})
	}
	s.SleepFrom = 900
	for i := range 20 {
		sleeper := &explore.Sleeper{Action: explore.Action{Goroutine: explore.GoroutineID(i + 1)}}
		for k := range 10 {
			access := explore.Access{Object: explore.ObjectID(k + 1), Kind: explore.Write}
			sleeper.Accesses = append(sleeper.Accesses, access)
		}
		s.Sleep = append(s.Sleep, sleeper)
	}
	t := &Translator{}
	b.ReportAllocs()
	for b.Loop() {
		t.Schedule(s)
	}
}
