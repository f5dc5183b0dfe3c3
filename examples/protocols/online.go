package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/onepaxos"
	"github.com/tandem-mc/tandem/examples/protocols/paxos"
	"github.com/tandem-mc/tandem/protocol"
	"github.com/tandem-mc/tandem/protocol/online"
)

// live is a row of the table of running systems.
type live struct {
	name, paper string
	config      func() online.Config
}

// The paper's system has a snapshot each minute, and its application sleeps for up to a minute.
// Here a
// minute is a fifth of a second. A leader of 1Paxos is replaced in one of ten calls there; here the
// calls come ten times more slowly.
const (
	minute = 200 * time.Millisecond
	// longest bounds one run.
	longest = 5 * time.Minute
)

// systems are those of section 5.5 and 5.6 of the paper.
func systems() []live {
	return []live{
		{"Paxos, value of the last promise", "1,150 s: about 19", func() online.Config {
			return online.Config{Model: paxos.Log(3, 1<<30, true), Bound: onlyOne, Depths: []int{3, 5, 7},
				Pace: minute / 2}
		}},
		{"1Paxos, the wrong increment", "225 s: about 4", func() online.Config {
			return online.Config{Model: onepaxos.Model(onepaxos.Config{Nodes: 3, Rivals: 1, Replacements: 1,
				WrongIncrement: true}), Pace: 5 * minute, Late: online.MaxLate}
		}},
	}
}

// onlyOne has one node propose once more in a search, another one in each round.
func onlyOne(nodes []protocol.Node, round int) bool {
	for i, n := range nodes {
		n.(*paxos.Replica).Calls = 0
		if i == round {
			n.(*paxos.Replica).Calls = 1
		}
	}
	return round < len(nodes)
}

// onlineTable runs each system several times until its bug is found.
func onlineTable(runs int, progress io.Writer) (string, error) {
	var s strings.Builder
	s.WriteString("| system | LMC: time, snapshots | found before it happened | seconds | snapshots | " +
		"last search, s | steps to come | messages, lost |\n" + strings.Repeat("|---", 8) + "|\n")
	for _, l := range systems() {
		row, err := l.row(runs, progress)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.name, err)
		}
		s.WriteString(row)
	}
	return s.String(), nil
}

// row runs a system so many times.
func (l live) row(runs int, progress io.Writer) (string, error) {
	var elapsed, searching, snapshots, steps []float64
	var sent, lost int64
	predicted := 0
	for seed := range runs {
		r, err := l.run(uint64(seed))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(progress, "%s, run %d: %v\n", l.name, seed+1, r)
		if !r.Happened {
			predicted++
		}
		if predicted == 1 && !r.Happened {
			fmt.Fprintf(progress, "\n%s\n", r.Violation.Chart)
		}
		elapsed, searching = append(elapsed, r.Elapsed.Seconds()), append(searching, r.Searching.Seconds())
		snapshots = append(snapshots, float64(r.Snapshots))
		steps = append(steps, float64(r.Violation.Steps))
		sent, lost = sent+r.Sent, lost+r.Lost
	}
	return fmt.Sprintf("| %s | %s | %d of %d | %s | %s | %s | %s | %s, %s |\n",
		l.name, l.paper, predicted, runs, spread(elapsed, 2), spread(snapshots, 0),
		spread(searching, 2), spread(steps, 0), grouped(int(sent)),
		grouped(int(lost))), nil
}

// run runs a system over UDP until its bug is found.
func (l live) run(seed uint64) (*online.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	c := l.config()
	c.Loss, c.Seed, c.Every = 0.3, seed, minute
	r, err := online.Run(ctx, c)
	if err == nil && r.Violation == nil {
		err = fmt.Errorf("run %d has found nothing: %v", seed+1, r)
	}
	return r, err
}

// spread writes the median of some numbers, and the least and the most.
func spread(list []float64, digits int) string {
	slices.Sort(list)
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, list[len(list)/2], digits, list[0], digits,
		list[len(list)-1])
}
