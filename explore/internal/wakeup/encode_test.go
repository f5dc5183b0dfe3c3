package wakeup

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// TestLongSequences: what is to do may be as long as an execution.
func TestLongSequences(t *testing.T) {
	long := &Branch{Steps: []*trace.Step{{}}}
	for last, i := long, 0; i < 1<<17; i++ {
		next := &trace.Step{Action: core.Action{Goroutine: core.GoroutineID(i % 3)}}
		if i%2 == 0 {
			last.Steps = append(last.Steps, next)
		} else {
			last.Below.Branches = []*Branch{{Steps: []*trace.Step{next}}}
			last = last.Below.Branches[0]
		}
	}
	e := &codec.Encoder{}
	EncodeBranch(e, long)
	d := &codec.Decoder{Data: e.Data}
	read := DecodeBranch(d, 0)
	again := &codec.Encoder{}
	if EncodeBranch(again, read); d.Problem != "" || len(d.Data) > 0 || !slices.Equal(again.Data, e.Data) {
		t.Errorf("%q, %d of %d bytes left, %d written "+
			"again", d.Problem, len(d.Data), len(e.Data), len(again.Data))
	}
}
