package strategy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// named are the strategies in the order of how often they checkpoint.
var named = []namedStrategy{
	{"never", Never{}},
	{"after-nd", AfterND{}},
	{"after-connect", AfterConnect{}},
	{"adaptive", Adaptive{}},
	{"after-io", AfterIO{}},
	{"always", Always{}},
}

type namedStrategy struct {
	name     string
	strategy Strategy
}

// Names returns the names that ByName knows.
func Names() []string {
	names := make([]string, len(named))
	for i := range named {
		names[i] = named[i].name
	}
	return names
}

// ByName returns the strategy of that name. What follows a comma changes it: "after-io,every=3" is
// Every with 3, "after-io,images=100" Budget with 100. The error lists what there is.
func ByName(name string) (Strategy, error) {
	first, changes, changed := strings.Cut(name, ",")
	i := slices.IndexFunc(named, func(n namedStrategy) bool { return n.name == first })
	if i < 0 {
		return nil, fmt.Errorf("there is no checkpoint strategy %q: choose one of "+
			"%s", name, strings.Join(Names(), ", "))
	}
	s := named[i].strategy
	for changed {
		var change string
		change, changes, changed = strings.Cut(changes, ",")
		key, value, _ := strings.Cut(change, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 1 || n > maxNumber:
			return nil, fmt.Errorf("checkpoint strategy %q: write every=N or images=N after a comma, N "+
				"from 1 to %d", name, maxNumber)
		case key == "every":
			s = Every{s, n}
		case key == "images":
			s = Budget{s, n}
		default:
			return nil, fmt.Errorf("checkpoint strategy %q: write every=N or images=N after a comma, not "+
				"%q", name, key)
		}
	}
	return s, nil
}

// maxNumber bounds the numbers in the name of a strategy.
const maxNumber = 1_000_000
