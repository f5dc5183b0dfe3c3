package explore

// expected is Search.Forecast.
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
