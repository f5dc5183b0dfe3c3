package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/bakery"
	"github.com/tandem-mc/tandem/examples/protocols/fifteen"
	"github.com/tandem-mc/tandem/examples/protocols/philosophers"
	"github.com/tandem-mc/tandem/protocol"
)

// The experiments of StEAM (Edelkamp, Jabbar, Sulewski; PDMC 2007). Each row is searched by a
// process of its own, so that its memory can be measured.

// steamMemory is the bound of all rows.
const steamMemory = 512 << 20

// steamRow is one search of one or more models.
type steamRow struct {
	name, paper string
	models      []*protocol.Model
	search      string
	options     protocol.Options
	// check is the number of philosophers of a program that tandem check explores; zero: none is.
	check int
}

// steamFigures are those of a row: sums, and the most of what is measured.
type steamFigures struct {
	Instances, Found, Held, Open       int // by verdict
	States, Executions, Steps, Longest int
	Bytes, Disk                        int64 // of the largest
	Elapsed                            time.Duration
}

// What the paper has measured on its machines.
const (
	paper200 = "depth-slicing DFS, 4 nodes: 2,256,037 states of 32 KB, 90 GB of files, " +
		"1.5 GB of memory each"
	paper600 = "6 nodes: 74 min, 761,000 states of 97 KB, 60 GB of files, depth 2,193"
	// steamPuzzles is how many instances of the 15-puzzle there are, steamWalk from how many moves.
	steamPuzzles, steamWalk = 24, 40
	// steamStates bounds the states of one puzzle breadth first, and greedyStates with an estimate.
	steamStates, greedyStates = 300_000, 1_000_000
)

// steamRows are the rows. External is a directory for states.
func steamRows(external string) (rows []steamRow) {
	add := func(name, paper, search string, o protocol.Options, models ...*protocol.Model) {
		o.Memory, o.Workers = steamMemory, 1
		rows = append(rows, steamRow{name: name, paper: paper, search: search, options: o, models: models})
	}
	directed := func(name, paper string, e protocol.Estimate, states int, models []*protocol.Model,
		searches ...protocol.Search) {
		for _, s := range searches {
			add(name, paper, s.String(), protocol.Options{Search: s, Estimate: e, States: states}, models...)
			paper = ""
		}
	}
	disk := protocol.Options{External: external}
	all := []protocol.Search{protocol.BestFirst, protocol.AStar, protocol.IDAStar}
	for _, n := range []int{200, 600} {
		paper := paper200
		if n == 600 {
			paper = paper600
		}
		name := fmt.Sprintf("%d philosophers", n)
		models := []*protocol.Model{philosophers.Model(n/10, 10)}
		directed(name, paper, philosophers.StillGoing(), 0, models, all...)
		rows = append(rows, steamRow{name: name + ", goroutines and mutexes", search: "tandem check",
			check: n})
	}
	var walks, random []*protocol.Model
	for seed := range uint64(steamPuzzles) {
		walks = append(walks, fifteen.Model(fifteen.Walk(seed, steamWalk)))
		random = append(random, fifteen.Model(fifteen.Random(seed)))
	}
	const puzzles = "breadth first, partial hash: speed-up near linear"
	name := fmt.Sprintf("15-puzzle, %d after %d random moves", steamPuzzles, steamWalk)
	bounded := disk
	bounded.States = steamStates
	add(name, puzzles, "breadth-first", bounded, walks...)
	directed(name, "", fifteen.Manhattan(), greedyStates, walks, all...)
	directed(fmt.Sprintf("15-puzzle, %d random", steamPuzzles), "", fifteen.Manhattan(), greedyStates, random,
		protocol.BestFirst)
	few := disk
	few.Time = 5 * time.Minute
	add("15-puzzle, 1 after 20 random moves", "", "breadth-first", few, fifteen.Model(fifteen.Walk(1, 20)))
	add("bakery, 3 processes, 3 tickets", "verified, speed-up near linear on 4 processors", "breadth-first",
		disk, bakery.Model(3, 3))
	add("bakery, 4 processes, 2 tickets", "", "breadth-first", few, bakery.Model(4, 2))
	add("bakery, 4 processes, 3 tickets", "", "breadth-first", few, bakery.Model(4, 3))
	return rows
}

// key is a name for a row, by which a process finds it.
func (r *steamRow) key() string { return r.name + ": " + r.search }

// measure does the searches of a row, in this process.
func (r *steamRow) measure() (f steamFigures, err error) {
	for _, m := range r.models {
		found, err := protocol.Check(m, r.options)
		if err != nil {
			return f, err
		}
		f.Instances++
		f.States += found.States
		f.Bytes, f.Disk = f.Bytes+found.Bytes, max(f.Disk, found.Disk)
		f.Elapsed += found.Elapsed
		switch {
		case found.Violation != nil:
			f.Found++
			f.Steps += found.Violation.Steps
			f.Longest = max(f.Longest, found.Violation.Steps)
		case found.Verdict == protocol.Holds:
			f.Held++
		case found.Verdict == protocol.Violated:
			return f, fmt.Errorf("%s: %v", r.key(), found)
		default:
			f.Open++
		}
	}
	return f, nil
}

// steamSingle measures one row, for the process that has started this one.
func steamSingle(key, external string, out io.Writer) error {
	for _, r := range steamRows(external) {
		if r.key() == key {
			f, err := r.measure()
			if err != nil {
				return err
			}
			return json.NewEncoder(out).Encode(f)
		}
	}
	return fmt.Errorf("there is no row %q: take one of the table", key)
}

// steamTable has a line for each wanted row.
func steamTable(wanted *regexp.Regexp, external, tandem string, progress io.Writer) (string, error) {
	var s strings.Builder
	s.WriteString("| experiment | StEAM | search | result | states | bytes a state | peak memory, MB | " +
		"disk, MB | time |\n" + strings.Repeat("|---", 9) + "|\n")
	for _, r := range steamRows(external) {
		if !wanted.MatchString(r.key()) {
			continue
		}
		fmt.Fprintln(progress, r.key())
		var line string
		var err error
		if r.check > 0 {
			line, err = r.checkLine(tandem)
		} else {
			line, err = r.searchLine(external)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.key(), err)
		}
		s.WriteString(line)
	}
	return s.String(), nil
}

// searchLine has a process of its own search. Its peak is that of resident memory.
func (r *steamRow) searchLine(external string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.Command(self, "-steam-row", r.key(), "-dir", external)
	c.Stderr = os.Stderr
	data, err := c.Output()
	if err != nil {
		return "", err
	}
	var f steamFigures
	if err := json.Unmarshal(data, &f); err != nil {
		return "", err
	}
	peak, err := peakOf(c.ProcessState)
	if err != nil {
		return "", err
	}
	size := fmt.Sprint(f.Bytes / int64(max(f.States, 1)))
	if f.Disk > 0 {
		size = fmt.Sprintf("%d, on disk", f.Disk/int64(max(f.States, 1)))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d | %.1f | %s |\n", r.name, dash(r.paper), r.search,
		f.result(), grouped(f.States), size, peak, float64(f.Disk)/(1<<20), seconds(f.Elapsed)), nil
}

// result says what has come of the models.
func (f *steamFigures) result() string {
	switch {
	case f.Instances == 1 && f.Found == 1:
		return fmt.Sprintf("found, %s steps", grouped(f.Longest))
	case f.Instances == 1 && f.Held == 1:
		return "holds"
	case f.Instances == 1:
		return "ended at a bound"
	case f.Found == 0:
		return fmt.Sprintf("0 of %d solved", f.Instances)
	}
	return fmt.Sprintf("%d of %d solved, %.1f moves, %d at most", f.Found, f.Instances,
		float64(f.Steps)/2/float64(f.Found), f.Longest/2)
}

// peakOf is the resident memory of a process at most, in MB.
func peakOf(p *os.ProcessState) (int64, error) {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("this system does not say what a process has used")
	}
	return usage.Maxrss >> 10, nil // it counts in kilobytes
}

// dash stands where there is nothing.
func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// executionsText is where tandem check says how many executions there were, and how long they took.
var executionsText = regexp.MustCompile(`(?m)^ +([0-9,]+) executions?\b.* in ([0-9.]+m?s)`)

// checkLine has tandem check explore the goroutines. That exits with 1 when it has found something.
func (r *steamRow) checkLine(tandem string) (string, error) {
	if tandem == "" {
		return "", errors.New("-tandem is missing: name the program, or leave this row out with -rows")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	start := time.Now()
	c := exec.CommandContext(ctx, tandem, "check", "./examples/finders", "-o", os.DevNull, "--",
		fmt.Sprintf("philosophers-%d", r.check))
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(text), "deadlock") {
		return "", fmt.Errorf("no deadlock, %w:\n%s", err, text)
	}
	elapsed := time.Since(start)
	executions := executionsText.FindStringSubmatch(string(text))
	if executions == nil {
		return "", fmt.Errorf("it says nothing of executions:\n%s", text)
	}
	peak, err := peakOf(c.ProcessState)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | – | %s | deadlock, %s executions | – | – | %d | – | %s, with the build %s |\n",
		r.name, r.search, executions[1], peak, executions[2], seconds(elapsed)), nil
}
