package nodes

import (
	"context"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/nodes/recorded"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Rehearsal is one node of a recording, to be run by itself: what the others do to it is recorded.
type Rehearsal struct {
	// Log is that of the execution, after the last crash if there was one. It is a copy.
	Log *sut.Log
	// Parted is where the program as it is now does something else; empty: nowhere.
	Parted string
	// Options are those of a worker of the node.
	Options sut.Options
	player  *player
	node    int
}

// Rehearse runs a node of a recording by itself. The rehearsal is to be closed, unless there is an
// error.
func Rehearse(ctx context.Context, program *sut.Program, rec *report.NodesRecording, node int) (
	r *Rehearsal, closeAll func(), err error) {
	programs := make([]*sut.Program, len(rec.Nodes))
	programs[node] = program
	p, closeAll, err := newReplay(ctx, programs, rec)
	if err == nil {
		if r, err = p.rehearse(rec, node); err != nil {
			err = fmt.Errorf("node %s: %w", rec.Nodes[node].Name, err)
		}
	}
	if err != nil {
		closeAll()
	}
	return r, closeAll, err
}

// rehearse runs a node by itself.
func (p *player) rehearse(rec *report.NodesRecording, node int) (*Rehearsal, error) {
	r := &Rehearsal{Options: recorded.Options(&rec.Nodes[node]), player: p, node: node}
	n := p.environment(node, nil)
	log, err := p.live(node, n, nil, func(*sut.Log) {})
	if err != nil {
		return nil, err
	}
	if _, err := translate.Outcome(log); log.Outcome == sut.Diverged {
		return nil, err
	}
	r.Log = &executor.Keep(log).Log
	if n.HasLeft() {
		parting := n.Parting()
		r.Parted = parting.String()
	} else if undone, is := n.Undone(""); is {
		r.Parted = fmt.Sprintf("node %s does not do what is recorded: it %s", undone.Node, undone.Recorded)
	}
	return r, nil
}

// Again runs the node once more. What it does after its last crash is run by the given worker, and
// the log is that of it.
func (r *Rehearsal) Again(w *sut.Worker) (*sut.Log, error) {
	own := r.player.workers[r.node]
	defer func() { r.player.workers[r.node] = own }()
	return r.player.live(r.node, r.player.environment(r.node, nil),
		func(*sut.Schedule) { r.player.workers[r.node] = w }, func(*sut.Log) {})
}
