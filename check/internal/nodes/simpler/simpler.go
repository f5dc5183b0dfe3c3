// Package simpler looks for a simpler schedule of the node that has a violation. The node must do
// the same to the others, in the same order, and show the same violation. So it can be run by
// itself, and is shrunk as one program is.
package simpler

import (
	"context"
	"time"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/shrink"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Node is the node with the violation.
type Node struct {
	Program *sut.Program
	// Follow runs it by itself, as far as a schedule can be followed if it is lenient. The log is
	// nil if the node does something else to the others. It says what else could have been picked.
	Follow func(schedule []model.Action, lenient bool) (*sut.Log, error)

	// Tell is told how many executions were tried, of how many, and 0 of 0 in the end; may be nil.
	Tell func(tried, limit int)

	deadline  time.Time
	outcome   sut.Outcome
	signature narrate.Signature
	best      []model.Action
}

// Schedule looks for a simpler schedule than the given one, within so many executions, and says how
// many there were. It is nil if none is found. Whatever goes wrong ends the search.
func (n *Node) Schedule(ctx context.Context, given []model.Action, limit int) (best []model.Action,
	tried int) {
	if limit <= 0 || ctx.Err() != nil {
		return nil, 0
	}
	log, err := n.Follow(given, false)
	if err != nil || log == nil {
		return nil, 0
	}
	n.deadline = time.Now().Add(shrink.Time)
	n.outcome, n.signature = log.Outcome, narrate.SignatureOf(n.Program, log)
	steps := translate.Steps(log.Events)
	looking := shrink.New(steps, shrink.Limit(limit, len(steps)),
		func(candidate []model.Action, below shrink.Cost) ([]translate.Step, error) {
			return n.try(ctx, candidate, below)
		})
	if n.Tell != nil {
		looking.Tell = n.Tell
		defer n.Tell(0, 0)
	}
	// After an error, what is better so far is as good as any.
	_ = looking.Run()
	return n.best, looking.Tried
}

// try runs a candidate, as shrink.New asks for it.
func (n *Node) try(ctx context.Context, candidate []model.Action, below shrink.Cost) (
	[]translate.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if time.Now().After(n.deadline) {
		return nil, context.DeadlineExceeded
	}
	log, err := n.Follow(candidate, true)
	if err != nil || log == nil || log.Outcome != n.outcome {
		return nil, err
	}
	steps := translate.Steps(log.Events)
	if !shrink.CostOf(steps).Less(below) || !narrate.SignatureOf(n.Program, log).Same(n.signature) {
		return nil, nil
	}
	n.best = course.ChoicesOf(log.Events)
	return steps, nil
}
