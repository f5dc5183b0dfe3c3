package configs

import (
	"fmt"
	"slices"
	"strings"
)

// Error lists what is wrong with a configuration. All problems that could be found are in it.
type Error struct {
	File     string // empty: values were given otherwise
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	Line int    // 0: not known
	Key  string // "bounds.time", "peers[0].listen", or a flag; empty: the file as a whole
	What string // what is wrong and what is allowed
}

// Error says all of it, one problem on a line: FILE:LINE: KEY: WHAT. Only the first ones are shown,
// and how many there are besides.
func (e *Error) Error() string {
	const shown = 20
	var lines []string
	for _, p := range e.Problems[:min(shown, len(e.Problems))] {
		var place string
		switch {
		case strings.HasPrefix(p.Key, "--"): // a flag is in no file
		case e.File != "" && p.Line > 0:
			place = fmt.Sprintf("%s:%d: ", e.File, p.Line)
		case e.File != "":
			place = e.File + ": "
		}
		if p.Key != "" {
			place += p.Key + ": "
		}
		lines = append(lines, place+p.What)
	}
	if more := len(e.Problems) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// orNil is the error, its problems in the order of their lines, or nil if there are none.
func (e *Error) orNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	// Those without a line come first, and those of one line stay in their order.
	slices.SortStableFunc(e.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return e
}
