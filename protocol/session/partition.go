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

// ParsePartition reads a partition function: hash, part, or part= with numbers of nodes, from 0 on.
// nodes are those that are looked at, as a set of bits; none: all of a state. With open the search
// is to choose them. An empty text is hash.
func ParsePartition(text string) (nodes uint64, open bool, err error) {
	name, list, hasList := strings.Cut(text, "=")
	switch {
	case text == "" || text == "hash":
		return 0, false, nil
	case text == "part":
		return 0, true, nil
	case name == "depth":
		return 0, false, errSlices
	case name != "part" || !hasList:
		return 0, false, fmt.Errorf("there is no partition function %q: take hash, part, or part= with "+
			"numbers of nodes", text)
	}
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n >= 64 {
			return 0, false, fmt.Errorf("%q is no number of a node: those of the model begin with 0", word)
		}
		nodes |= 1 << n
	}
	return nodes, false, nil
}
