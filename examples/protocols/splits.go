package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/tandem-mc/tandem/protocol"
)

// splitColumns are the searches of MP-Basset that its splits make.
var splitColumns = []column{
	{"not reduced", protocol.Options{}},
	{"no split", protocol.Options{Reduce: true, Without: protocol.ReplySplit | protocol.QuorumSplit}},
	{"reply split", protocol.Options{Reduce: true, Without: protocol.QuorumSplit}},
	{"quorum split", protocol.Options{Reduce: true, Without: protocol.ReplySplit}},
	{"combined", protocol.Options{Reduce: true}},
}

// splitTable has a row for each wanted experiment of MP-Basset; it is empty if there is none.
func splitTable(list []experiment, wanted *regexp.Regexp, progress io.Writer) (string, error) {
	var s strings.Builder
	for _, e := range list {
		if e.basset == nil || !wanted.MatchString(e.name) {
			continue
		}
		fmt.Fprintf(progress, "%s, splits\n", e.name)
		row, err := e.splitRow()
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.name, err)
		}
		s.WriteString(row)
	}
	if s.Len() == 0 {
		return "", nil
	}
	head := "| experiment |"
	for _, c := range splitColumns {
		head += " " + c.name + " |"
	}
	return "\nBeside MP-Basset:\n\n" + head + " no split : combined |\n" +
		strings.Repeat("|---", len(splitColumns)+2) + "|\n" + s.String(), nil
}

// splitRow searches one model with each of the splits and without.
func (e *experiment) splitRow() (string, error) {
	s := "| " + e.name + " |"
	var states []int
	for i, c := range splitColumns {
		// With one worker a search that ends at a violation has the same states each time.
		c.Time, c.Workers = e.time(), 1
		r, err := e.search(c)
		if err != nil {
			return "", err
		}
		states = append(states, r.States)
		s += " " + cell(r)
		if e.basset[i] != 0 {
			s += "; paper " + grouped(e.basset[i])
		}
		s += " |"
	}
	s += " " + ratio(states)
	if e.basset[1] != 0 && e.basset[4] != 0 {
		s += "; paper " + ratio(e.basset)
	}
	return s + " |\n", nil
}

// ratio is how many times fewer states the last column has than that without a split.
func ratio(states []int) string {
	return fmt.Sprintf("%.2f", float64(states[1])/float64(states[len(states)-1]))
}
