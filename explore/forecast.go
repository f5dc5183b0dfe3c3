package explore

// Forecast is how many more executions a search may ask for that go the way of the one that it has asked for, as far as
// that leaves the one before: as many for each branch that it has planned there, this one included, as there were on average for those
// that it has explored there. It may be called after Next. It is a guess for who weighs costs, and 0
// for a search that does not branch.
func Forecast(s Search) float64 {
	if b, ok := s.(brancher); ok {
		return b.expected()
	}
	return 0
}

// brancher is a search that goes back to branch off, or a decorator of one.
type brancher interface{ expected() float64 }

// expected of a decorator may be more than the bound leaves.
func (b *bounded) expected() float64 { return Forecast(b.Search) }

func (l *limited) expected() float64 { return Forecast(l.Search) }

func (p *Part) expected() float64 { return Forecast(p.Search) }

func (d *dfs) expected() float64 {
	top := len(d.stack) - 1
	if top < 0 {
		return 0
	}
	return d.sizes.ofBranch(top)*float64(1+len(d.stack[top].todo)) - 1
}

func (d *dpor) expected() float64 {
	top := len(d.nodes) - 1
	if top < 0 {
		return 0
	}
	return d.sizes.ofBranch(top)*float64(1+len(d.nodes[top].todo.branches)) - 1
}

// ofBranch is the mean number of executions of the branches of a node that are done, at least 1.
func (s *subtrees) ofBranch(node int) float64 {
	if node >= len(s.nodes) || s.nodes[node].done == 0 {
		return 1
	}
	return max(1, float64(s.nodes[node].leaves)/float64(s.nodes[node].done))
}
