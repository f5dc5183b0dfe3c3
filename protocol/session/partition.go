package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errSlices is of a function that does not depend on the state only.
var errSlices = errors.New("a state that is reached twice may be at two depths, and would be visited " +
	"twice: take hash, part, or part= with numbers of nodes")

// Function is a partition function.
type Function struct {
	// Nodes are those that are looked at, as a set of bits; none: all of a state. With Open the
	// search is to choose them.
	Nodes uint64
	Open  bool
	// ByEstimate: the estimate of a state is looked at, and nothing else.
	ByEstimate bool
}

// ParsePartition reads a partition function: hash, part, part= with numbers of nodes, from 0 on, or
// estimate. An empty text is hash.
func ParsePartition(text string) (f Function, err error) {
	name, list, hasList := strings.Cut(text, "=")
	switch {
	case text == "" || text == "hash":
		return f, nil
	case text == "part":
		return Function{Open: true}, nil
	case text == "estimate":
		return Function{ByEstimate: true}, nil
	case name == "depth":
		return f, errSlices
	case name != "part" || !hasList:
		return f, fmt.Errorf("there is no partition function %q: take hash, part, part= with numbers of "+
			"nodes, or estimate", text)
	}
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n >= 64 {
			return f, fmt.Errorf("%q is no number of a node: those of the model begin with 0", word)
		}
		f.Nodes |= 1 << n
	}
	return f, nil
}
