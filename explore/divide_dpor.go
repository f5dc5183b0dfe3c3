package explore

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

func (d *dpor) full() bool { return d.told.full() }

func (d *dpor) divide(least float64) *Subtree {
	if d.restored != nil {
		return nil
	}
	node, i := d.untaken(least, quietFor)
	if node < 0 {
		if node, i = d.untaken(least, 0); node < 0 {
			return nil
		}
	}
	b := d.nodes[node].todo.branches[i]
	p := &Subtree{node: node, begins: b.first().Action, branch: b, base: make([]wakeups, node+1)}
	for j := range p.base {
		p.base[j] = d.nodes[j].todo
	}
	p.base[node].branches = p.base[node].branches[i+1:]
	d.owner = &owner{stock: d.owner.stock}
	part := d.part(p, i)
	p.search = part
	return d.begin(p)
}

// quietFor is after how many executions in which nothing was inserted below a branch it is likely to stay as it is.
const quietFor = 8

// untaken returns which branch of which node is to be made a part (Divide), if nothing was inserted below it in so many executions. The
// node is -1 if there is none.
func (d *dpor) untaken(least float64, executions int) (node, place int) {
	of := func(i int) int {
		if len(d.nodes[i].todo.postponed) > 0 {
			return -1
		}
		return slices.IndexFunc(d.nodes[i].todo.branches, func(b *branch) bool {
			return d.counts.Executions-b.since >= executions && !d.has(i, func(p *Subtree) bool { return p.branch == b })
		})
	}
	if node = d.sizes.divide(len(d.nodes), d.counts.Executions, least, func(i int) bool { return of(i) >= 0 }); node >= 0 {
		place = of(node)
	}
	return node, place
}

// part is the search through branch i of a node.
func (d *dpor) part(p *Subtree, i int) *dpor {
	node := p.node
	spare := d.spare()
	part := newDPOR(d.trace.prefix(node, spare.trace))
	part.told, part.owner = spare.told, &owner{stock: spare.owner.stock}
	part.told.empty()
	part.floor, part.begun, part.decided = node+1, true, true
	part.short = d.short
	part.path, part.nodes = refill(spare.path, d.path[:node], len(d.path)), refill(spare.nodes, d.nodes[:node+1], len(d.nodes))
	part.sleep = refill(spare.sleep, d.sleep[:d.nodes[node].sleepEnd], len(d.sleep))
	if node < len(d.trace.events) {
		part.sleep = append(part.sleep, d.sleeper(node))
	} else if d.chosen != nil { // it is being executed
		part.sleep = append(part.sleep, d.chosen.sleeper())
	}
	for _, b := range d.nodes[node].todo.branches[:i] {
		part.sleep = append(part.sleep, b.sleeper())
	}
	n := &part.nodes[node]
	n.sleepEnd, n.vague, n.todo = len(part.sleep), false, p.base[node]
	p.assumed = slices.Clone(part.sleepOf(n))
	part.choosing = slices.DeleteFunc(slices.Clone(d.choosing), func(e int32) bool { return int(e) >= node })
	part.unsettled = d.unsettledBefore(node)
	part.descend(p.branch)
	return part
}

// sleeper is what the first step of a branch will be when it is asleep, for all that is known.
func (b *branch) sleeper() *Sleeper {
	s := b.first()
	return &Sleeper{Action: s.Action, Accesses: accumulate(slices.Clone(s.Accesses)), choices: 1}
}

// come notes which part the search has come to, if any, now that it goes on with a branch of a node.
func (d *dpor) come(node int, b *branch) {
	d.arrive(node, func(p *Subtree) bool { return p.branch == b })
	if d.due != nil && !d.agrees(d.due) {
		d.leave()
	}
	d.giveUpChanged(node)
}

// giveUpChanged gives up the parts of a node of which the branch is not there any more: something was inserted below it, so that another one is
// in its place, or it is not to be explored.
func (d *dpor) giveUpChanged(node int) {
	d.giveUp(func(p *Subtree) bool {
		return p.node == node && !slices.Contains(d.nodes[node].todo.branches, p.branch)
	})
}

// agrees reports whether what a part that is due began with is what the search would begin with now.
func (d *dpor) agrees(p *Subtree) bool {
	n := &d.nodes[p.node]
	return len(n.todo.postponed) == 0 && slices.EqualFunc(d.sleepOf(n), p.assumed, (*Sleeper).same)
}

// same reports whether a search sees no difference.
func (s *Sleeper) same(t *Sleeper) bool {
	return s.alike(t) && s.choices == t.choices && s.vague == t.vague &&
		slices.EqualFunc(s.Accesses, t.Accesses, func(a, b Access) bool { return a.Ready&model.CountsWaiting == b.Ready&model.CountsWaiting })
}

func (d *dpor) join(p *Subtree) bool {
	part, node := p.search.(*dpor), p.node
	if !d.merges(p, part) {
		d.leave()
		return false
	}
	for i := range node + 1 {
		d.nodes[i].vague = d.nodes[i].vague || part.nodes[i].vague
	}
	for i := range part.told.all {
		d.hear(&part.told.all[i])
	}
	d.sizes.join(&part.sizes, node, d.counts.Executions)
	d.tally.join(p)
	end := d.nodes[node].sleepEnd
	d.sleep, d.nodes = append(d.sleep[:end], part.sleep[end:]...), append(d.nodes[:node+1], part.nodes[node+1:]...)
	d.inheritFrom(node)
	part.trace, d.trace = d.trace, part.trace
	part.path, d.path = d.path, part.path
	d.chosen, d.followed, d.given = part.chosen, part.followed, part.given
	d.choosing = append(slices.DeleteFunc(d.choosing, func(e int32) bool { return !slices.Contains(part.choosing, e) }),
		slices.DeleteFunc(part.choosing, func(e int32) bool { return int(e) < node })...)
	d.unsettled = part.unsettled
	d.decided, d.due = false, nil
	d.reuse(p)
	return true
}

// reuse: there are never more of them than there were parts at a time. From now on who uses the part, or has it used again, panics: two would
// share what they change.
func (d *dpor) reuse(p *Subtree) {
	if slices.Contains(d.parts, p) {
		panic("explore: a part is to be used again that the search may still join")
	}
	part := p.search.(*dpor)
	p.search = nil
	clear(part.nodes[:cap(part.nodes)]) // no wakeup tree is to be kept because of them
	d.spares = append(d.spares, part)
}

// spare is a search that is not needed any more, or a new one.
func (d *dpor) spare() *dpor {
	n := len(d.spares)
	if n == 0 {
		return newDPOR(newTrace())
	}
	s := d.spares[n-1]
	d.spares = d.spares[:n-1]
	return s
}

// inheritFrom gives the sleepers at the nodes of a part that has been joined the accesses that they have at the node where it begins. What the
// branches before it (Part.assumed) would access there was foreseen when it began, and has been executed since: what that finds may differ, but not what it accesses (agrees). Nodes where
// nothing is left to do may have lost their sleepers (putToSleep).
func (d *dpor) inheritFrom(node int) {
	for i := node + 1; i < len(d.nodes) && d.nodes[i].sleepEnd <= len(d.sleep); i++ {
		n, before := &d.nodes[i], d.sleepOf(&d.nodes[i-1])
		for j := n.sleepBegin; j < n.sleepBegin+n.inherited; j++ {
			s := *d.sleep[j]
			if k := slices.IndexFunc(before, func(b *Sleeper) bool { return b.Action == s.Action }); k >= 0 {
				s.Accesses = before[k].Accesses
				d.sleep[j] = &s
			}
		}
	}
}

// merges reports whether the wakeup trees on which it depends what a part has inserted are as it found them.
func (d *dpor) merges(p *Subtree, part *dpor) bool {
	return !slices.ContainsFunc(part.depends, func(i int32) bool { return !d.nodes[i].todo.is(&p.base[i]) })
}

// inserts reports whether a part inserts itself what the search is to insert at one of its nodes, since it makes a difference to what it does.
func (d *dpor) inserts(node int32) bool {
	return int(node) == d.floor-1 || slices.Contains(d.depends, node)
}

// depend notes that what is inserted at a node is not only up to the wakeup tree there.
func (d *dpor) depend(node int32) {
	if int(node) < d.floor && !slices.Contains(d.depends, node) {
		d.depends = append(d.depends, node)
	}
}

// is reports whether two trees are one, in which nothing was changed meanwhile.
func (w *wakeups) is(other *wakeups) bool {
	return slices.Equal(w.branches, other.branches) && slices.Equal(w.postponed, other.postponed)
}
