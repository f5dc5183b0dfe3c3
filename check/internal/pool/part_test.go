package pool

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// TestPartNotes: what is nothing but counts is added up, what somebody may want to see is kept in
// order, and the part rests where that may end the search.
func TestPartNotes(t *testing.T) {
	p := &part{outcomes: map[explore.Outcome]int{}}
	for i, f := range []*execution.Result{
		nil, {Checked: true, Counts: execution.Counts{PeerCounts: execution.PeerCounts{Hits: 2}}},
		{Limit: "depth", Limited: "depth, here"},
		{Limit: "depth", Limited: "depth, there",
			Counts: execution.Counts{PeerCounts: execution.PeerCounts{Misses: 3}}},
		{Kind: "known", Violation: true},
	} {
		if p.note(explore.Completed, f) {
			t.Errorf("the part rests after result %d", i)
		}
	}
	if !p.note(explore.Deadlock, &execution.Result{Kind: "new", Kept: &execution.Kept{}}) {
		t.Error("the part goes on after a violation that nobody knew")
	}
	if p.executions != 6 || p.outcomes[explore.Completed] != 5 || p.outcomes[explore.Deadlock] != 1 {
		t.Errorf("%d executions, %v", p.executions, p.outcomes)
	}
	if p.counts.Hits != 2 || p.counts.SelfChecked != 1 || p.counts.Misses != 3 {
		t.Errorf("%+v is counted", p.counts)
	}
	if len(p.results) != 3 || p.results[0].Limited != "depth, here" || p.results[1].Kind != "known" ||
		p.results[2].Kind != "new" {
		t.Errorf("%d results are kept", len(p.results))
	}
}

// TestPartSamples: of a part, those executions are kept to be audited that are drawn, and the first
// one that could be.
func TestPartSamples(t *testing.T) {
	p := newPart(&explore.Subtree{}, 10, 0)
	first, drawn := &execution.Sample{Connections: 2}, &execution.Sample{Connections: 3, Drawn: true}
	for _, s := range []*execution.Sample{nil, first, {Connections: 4}, drawn, {Connections: 5}, drawn} {
		p.note(explore.Completed, &execution.Result{Checked: true, Sample: s})
	}
	var kept []*execution.Sample
	for _, r := range p.results {
		kept = append(kept, r.Sample)
	}
	if !slices.Equal(kept, []*execution.Sample{first, drawn, drawn}) || p.counts.SelfChecked != 3 {
		t.Errorf("kept are %v, and %d others were checked", kept, p.counts.SelfChecked)
	}
}

// TestPartsInTheirPlaces: an executor gets no part that was given up or that the search has come
// to; it hears of those that it has. Of those that nobody explores any more only the counts are
// left.
func TestPartsInTheirPlaces(t *testing.T) {
	p := newParts()
	var all []*part
	for range 4 {
		t := newPart(&explore.Subtree{}, 1, 0)
		t.executions, t.results = 1, []*execution.Result{{}}
		t.results[0].Counts.Hits = 1
		p.add(t, &p.queue)
		all = append(all, t)
	}
	if p.queue.room(4) || !p.queue.room(5) {
		t.Error("with four parts waiting there is room for four executors, or none for five")
	}
	j := &job{}
	p.await(j, all[0].Subtree)
	p.giveUp([]*explore.Subtree{all[1].Subtree, {}})
	if j.part != all[0] || j.state != finished {
		t.Errorf("the search waits for a part that nobody has begun with, in state %d", j.state)
	}
	if got := p.queue.pop(); got != all[2] || got.ends.Load() {
		t.Error("the third part is not next")
	}
	p.giveUp([]*explore.Subtree{all[2].Subtree})
	p.await(&job{}, all[3].Subtree)
	if !all[2].ends.Load() || !all[3].ends.Load() || p.queue.pop() != nil {
		t.Error("parts go on that were given up, or that the search has come to")
	}
	if list := p.clear(); len(list) != 1 || list[0] != all[1].Subtree {
		t.Errorf("%d parts are cleared", len(list))
	}
	if len(p.all) != 3 || p.vain.InVain != 1 || p.vain.Hits != 1 {
		t.Errorf("%d parts are left, %+v is counted", len(p.all), p.vain)
	}
	if results := p.rest(); len(results) != 3 || p.vain.InVain != 4 {
		t.Errorf("%d results are left, %d executions were in vain", len(results), p.vain.InVain)
	}
}
