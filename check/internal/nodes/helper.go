package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/away"
	"github.com/tandem-mc/tandem/check/internal/nodes/batch"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/ways"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/sut"
)

// Items are done in other processes, too. They come to the same there, so what is found does not
// depend on who does what. To explore a node, no schedule has to be known. Where all nodes are run,
// the schedules that lead to the prefix go along. If others were needed, the item is done here.

// Helper explores items of an exploration that is led elsewhere. It is used by one goroutine at a
// time.
type Helper struct {
	x     *explorer
	crew  []*sut.Worker
	stops func() bool // the present item is not wanted any more
}

// unwanted is why an item ends that is not wanted.
const unwanted = "the item is not wanted any more"

// NewHelper starts the workers of a helper. The caller has to close it.
func NewHelper(ctx context.Context, c Config) (*Helper, error) {
	h := &Helper{}
	c.Saving, c.Walks, c.Elsewhere = Saving{}, nil, given.Elsewhere{}
	c.Full = func() string {
		if h.stops != nil && h.stops() {
			return unwanted
		}
		return ""
	}
	x, err := newExplorer(ctx, c)
	if err != nil {
		return nil, err
	}
	h.x, h.crew = x, x.workers
	return h, nil
}

// Close ends its workers.
func (h *Helper) Close() { h.x.close() }

// First is a digest of what the nodes do if they are run once. It is the same wherever they find
// the same files; empty: they cannot be run so.
func (h *Helper) First() (string, error) {
	p := h.x.begin(h.crew, skeleton.New(len(h.x.net.Names)).Work()[0])
	if h.x.net.Beside != nil {
		p.alone()
	} else {
		p.result, p.err = p.do(p.item)
	}
	if p.err != nil || p.result.Completed == nil {
		return "", h.x.ctx.Err()
	}
	digest := sha256.New()
	if err := gob.NewEncoder(digest).Encode(p.result.Completed); err != nil {
		return "", err
	}
	fmt.Fprint(digest, p.runs)
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// alone runs each node by itself, as far as it comes: whoever helps has no peers to run all with.
func (p *part) alone() {
	for node := range p.config.Nodes {
		local, found, err := p.extend(node, nil, nil)
		if err != nil || !found {
			p.err, p.result.Completed = err, nil
			return
		}
		p.result.Completed = append(p.result.Completed, local)
	}
}

// isForHelpers says whether an item can be done elsewhere. Where there are real peers, a node is
// explored against what they have sent, which is in the item. To run all nodes takes the peers.
func isForHelpers(net *network.Nodes, item *skeleton.Item) bool {
	return net.Beside == nil || item.Component != skeleton.Completion && !net.IsBeside(item.Component)
}

// Explore does an item, and says what that has come to, and how many executions it took. Soon
// after stop says so, it ends without an answer. An error is one of the machinery.
func (h *Helper) Explore(task []byte, stop func() bool) (answer []byte, runs int, err error) {
	t, err := away.DecodeTask(task)
	if err != nil {
		return nil, 0, err
	}
	x := h.x
	c, nodes := t.Item.Component, len(x.net.Names)
	if c >= nodes || c < skeleton.Completion || len(t.Ordered) != nodes ||
		c == skeleton.Completion && len(t.Item.Prefix) != nodes {
		return nil, 0, fmt.Errorf("an item is of node %d, and there are %d nodes: it is of another check",
			c, nodes)
	}
	if !isForHelpers(x.net, &t.Item) {
		return nil, 0, errors.New("an item takes peers, which are not here: it is of another check")
	}
	h.stops = stop
	x.runs, x.config.Executions, x.config.Violations = t.Runs, t.Executions, t.Wanted
	x.net.Ordered, x.net.Parted, x.net.Data = t.Ordered, t.Parted, t.Data
	x.ways, x.known = ways.New(t.Ways), map[string]bool{}
	for _, key := range t.Known {
		x.known[key] = true
	}
	p := x.part(h.crew, t.Item)
	a := p.answer()
	switch order := (errOrder{}); {
	case p.unknown == unwanted:
		return nil, p.runs - p.before, nil
	case errors.As(p.err, &order):
		a.Order = order.node + 1
	case errors.Is(p.err, errEnough) && x.ctx.Err() == nil:
		a.Ended = true
	case p.err != nil:
		return nil, p.runs - p.before, p.err
	}
	answer, err = a.Encode()
	return answer, p.runs - p.before, err
}

// answer is what an item has come to, to be sent.
func (p *part) answer() *away.Answer {
	a := &away.Answer{Runs: p.runs - p.before, Report: p.result, Ways: p.ways.Fresh(), Data: p.net.Data,
		Nobody: p.net.Nobody, Outcomes: p.explorer.result.Outcomes, Unknown: p.unknown,
		Known: slices.Collect(maps.Keys(p.known))}
	if p.never != nil {
		a.Never = p.never.Error()
	}
	if p.item.Component == skeleton.Completion {
		a.Missed = slices.Collect(maps.Keys(p.ways.Missed()))
	}
	// The leader has the skeletons, and runs again whatever it shows.
	list := func(findings []*finding) (list []away.Finding) {
		for _, f := range findings {
			found := kept.Finding{Item: f.item, Outcome: f.outcome, Lives: f.lives}
			list = append(list, away.Finding{Finding: found, Key: f.key})
		}
		return list
	}
	a.Found, a.Stuck = list(p.found), list(p.stuck[p.item.Key])
	return a
}

// sender has items of an exploration explored elsewhere.
type sender struct{ *explorer }

// task is an item as it is sent.
func (x sender) task(item skeleton.Item) *away.Task {
	t := &away.Task{Item: item, Data: away.DataOf(&item, x.net.Data), Ordered: x.net.Ordered,
		Parted: x.net.Parted, Wanted: max(x.config.Violations, 1) - len(x.found) - len(x.told),
		Runs: x.runs + x.others, Executions: x.config.Executions}
	if item.Component == skeleton.Completion {
		t.Ways = x.waysTo(item.Prefix)
		return t
	}
	for key := range x.known {
		if strings.HasPrefix(key, x.net.Names[item.Component]+"\n") {
			t.Known = append(t.Known, key)
		}
	}
	slices.Sort(t.Known)
	return t
}

// waysTo are the schedules that are known to lead where an execution begins.
func (x sender) waysTo(prefix skeleton.Global) map[string]lives.Lives {
	found := map[string]lives.Lives{}
	look := func(script []skeleton.Event) {
		key := network.KeyOf(script)
		if way := x.ways.To(key); way != nil {
			found[key] = way
		}
	}
	for _, local := range network.WithResets(x.net, prefix) {
		look(local.Events)
		if without, is := network.LastTick(local.Events); is {
			look(without)
		}
	}
	return found
}

// sent has an item explored elsewhere. Nothing of the exploration changes.
func (x sender) sent(ctx context.Context, item skeleton.Item) (p *part, done bool) {
	task, err := x.task(item).Encode()
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	data, done := x.config.Away.Do(ctx, task)
	if !done {
		return nil, false
	}
	a, err := away.DecodeAnswer(data)
	if err != nil || a.Report.Key != item.Key && !a.Ended && a.Order == 0 {
		return nil, false // it was damaged on the way
	}
	if slices.ContainsFunc(a.Missed, func(key string) bool { return x.ways.To(key) != nil }) {
		return nil, false // with that schedule, it may come to something else
	}
	return x.received(item, a), true
}

// received is an item that was explored elsewhere, as if it had been explored here.
func (x sender) received(item skeleton.Item, a *away.Answer) *part {
	x.config.Progress.Ran(a.Runs)
	own, net := *x.explorer, *x.net
	net.Data, net.Nobody = a.Data, a.Nobody
	own.net, own.ways, own.runs, own.unknown = &net, x.ways.Part(), x.runs+a.Runs, a.Unknown
	for key, way := range a.Ways {
		if item.Component == skeleton.Completion || own.ways.To(key) == nil { // as exploration.branch
			own.ways.Remember(key, way)
		}
	}
	if a.Never != "" {
		own.never = errors.New(a.Never)
	}
	own.result.Outcomes, own.known = a.Outcomes, map[string]bool{}
	for _, key := range a.Known {
		own.known[key] = true
	}
	list := func(findings []away.Finding) (list []*finding) {
		for _, f := range findings {
			list = append(list, &finding{item: f.Item, outcome: f.Outcome, lives: f.Lives, key: f.Key,
				global: x.system.With(item)})
		}
		return list
	}
	own.found, own.stuck = list(a.Found), map[string][]*finding{item.Key: list(a.Stuck)}
	p := &part{explorer: &own, item: item, before: x.runs, result: a.Report}
	switch {
	case a.Order > 0:
		p.err = errOrder{a.Order - 1}
	case a.Ended:
		p.err = errEnough
	}
	return p
}

// patience is how long an item is left to others while nobody here has anything else to do. Most
// take some milliseconds.
const patience = time.Second

// elsewhere says who explores items in other processes; nil: nobody does.
func elsewhere(x *explorer, work []skeleton.Item) *batch.Away[*part] {
	if x.config.Away == nil {
		return nil
	}
	return &batch.Away[*part]{
		Most: x.config.Away.Gather(x.runs + x.others),
		May: func(job int) bool {
			_, known := x.system.Alike(work[job])
			return !known && isForHelpers(x.net, &work[job])
		},
		Patience: patience,
		Do: func(ctx context.Context, job int) (p *part, last, done bool) {
			p, done = sender{x}.sent(ctx, work[job])
			return p, done && p.err != nil, done
		},
	}
}
