package executor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestSample: of many schedules about one of n is picked, whether they differ in their seeds or in
// their actions; it is the same ones each time. With 1 all are, with 0 none.
func TestSample(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const schedules = 20_000
	for _, n := range []int{0, 1, 2, 10, 64} {
		for _, seeds := range []bool{false, true} {
			picked := 0
			for range schedules {
				var s explore.Schedule
				if seeds {
					s.Seed = random.Uint64()
				}
				for range 1 + random.IntN(12) {
					s.Prefix = append(s.Prefix, explore.Action{
						Goroutine: explore.GoroutineID(random.Uint64()), Choice: random.IntN(3)})
				}
				is := sampled(s, n)
				if is {
					picked++
				}
				s.Sleep = []*explore.Sleeper{{}} // which depends on who runs it when
				if sampled(s, n) != is {
					t.Fatal("a schedule is picked only at times")
				}
			}
			want := 0
			if n > 0 {
				want = schedules / n
			}
			if picked < want*8/10 || picked > want*12/10 {
				t.Errorf("one of %d, seeds: %v: %d of %d are picked", n, seeds, picked, schedules)
			}
		}
	}
}

// TestLimits: each limit has words of its own, which tell it from the others, and say what raises
// it.
func TestLimits(t *testing.T) {
	c := &Config{Program: &sut.Program{}, Depth: 100}
	seen := map[string]sut.Outcome{}
	for outcome, want := range map[sut.Outcome]string{
		sut.RoundLimit: "a loop that waits", sut.StepLimit: "the limit of 100 transitions (--depth)",
		sut.LogLimit: "a greater --depth makes room for more", sut.OtherLimit: "too many goroutines",
	} {
		limit, whole := c.limit(&sut.Log{Outcome: outcome, Message: "too many goroutines"}, false)
		if !strings.Contains(limit, want) || !strings.HasPrefix(whole, limit) {
			t.Errorf("%v: %q, %q, want %q", outcome, limit, whole, want)
		}
		kind := execution.LimitKind(limit)
		if other, known := seen[kind]; known || kind == violated || kind == "" {
			t.Errorf("%v is of the same kind as %v", outcome, other)
		}
		seen[kind] = outcome
	}
	if limit, _ := c.limit(&sut.Log{Outcome: sut.StepLimit}, true); strings.Contains(limit, "--depth") {
		t.Errorf("a greater depth is no help beside the search: %q", limit)
	}
	c.Depth = sut.MaxSteps
	if limit := c.logLimit(); !strings.Contains(limit, "cannot be raised") {
		t.Errorf("at the greatest depth: %q", limit)
	}
}

// TestDetach: what an execution is in is handed over, and not used again until it comes back.
func TestDetach(t *testing.T) {
	first := &translate.Translator{}
	x := &Executor{translator: first}
	if got := x.Detach(nil); got != first || x.translator == first || x.translator == nil {
		t.Errorf("%p is handed over, %p used", got, x.translator)
	}
	second := x.translator
	if got := x.Detach(first); got != second || x.translator != first {
		t.Errorf("%p is handed over, %p used", got, x.translator)
	}
}

// TestWithoutPeers: an executor without peers has nobody who answers, and nobody to watch.
func TestWithoutPeers(t *testing.T) {
	x := &Executor{config: &Config{}}
	if x.Answers() != nil || Recorded(false, nil) != nil {
		t.Error("somebody answers")
	}
	x.Expect(3)
	x.Watch(nil)()
	if kept := x.Keep(&sut.Log{Events: []sut.Event{{Kind: sut.Enabled, Subject: 1},
		{Kind: sut.Stepped, Subject: 1, Number: 2}}}); kept.Hits != nil || len(kept.Events) != 1 ||
		len(kept.Prefix) != 1 || kept.Prefix[0] != (explore.Action{Goroutine: 1, Choice: 2}) {
		t.Errorf("%+v is kept", kept)
	}
}
