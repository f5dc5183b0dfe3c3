package check

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// classics are the published numbers of executions: Abdulla, Aronis, Jonsson, Sagonas: Source Sets:
// A Foundation for Optimal Dynamic Partial Order Reduction, Journal of the ACM 64(4), 2017. Those
// of writers and locks are the orders of n writes, and of three critical sections of n goroutines.
var classics = []struct {
	program   string
	n         int
	published int
}{
	{"lastzero", 5, 64},
	{"lastzero", 10, 3_328},
	{"lastzero", 13, 32_768},
	{"readers", 2, 4},
	{"readers", 8, 256},
	{"readers", 13, 8_192},
	{"filesystem", 14, 2},
	{"filesystem", 16, 8},
	{"filesystem", 18, 32},
	{"filesystem", 19, 64},
	{"indexer", 12, 8},
	{"indexer", 13, 64},
	{"indexer", 14, 512},
	{"indexer", 15, 4_096},
	{"writers", 6, 720},
	{"locks", 2, 20},
	{"locks", 3, 1_680},
}

// TestPublishedCounts checks the classics of partial-order reduction: the number of all executions,
// redundant ones included, is the published one of optimal DPOR.
func TestPublishedCounts(t *testing.T) {
	p, err := buildProgram("../examples/classics", filepath.Join(tree, "classics"))
	if err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("\n%-10s %4s %10s %10s\n", "", "n", "published", "ours")
	for _, c := range classics {
		result := check(t, Options{
			Program: p, Package: "classics", Args: []string{c.program, fmt.Sprint(c.n)}, Search: dporSearch(),
			Depth: 100_000,
		})
		v := result.Verdict
		table += fmt.Sprintf("%-10s %4d %10d %10d\n", c.program, c.n, c.published, v.Executions)
		if v.Kind != explore.Holds || v.Executions != c.published || v.Redundant != 0 {
			t.Errorf("%s(%d): %v: %s; %d executions, %d of them redundant; want %d",
				c.program, c.n, v.Kind, v.Reason, v.Executions, v.Redundant, c.published)
		}
	}
	t.Log(table)
}
