// Package spin has models in Promela that are written by hand, and have the same states as the
// models in Go beside it. SPIN searches the ones, package protocol the others, so that the speed
// and the room that both take can be compared.
package spin

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed *.pml
var models embed.FS

// Result is what one search of SPIN took.
type Result struct {
	States, Transitions, Errors int
	// Bytes are those of the states and of the table that finds them.
	Bytes int64
	// Processor is the time of the search, without that of building it.
	Processor time.Duration
}

// Search is a model that was turned into a program.
type Search struct {
	program string
	slots   int
}

// Build turns a model into a program, in an empty directory. Defines are arguments such as -DN=7.
// The table for the states has 2 to the power of slots entries. There is no reduction.
func Build(dir, model string, slots int, defines ...string) (*Search, error) {
	source, err := models.ReadFile(model)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, model), source, 0o600); err != nil {
		return nil, err
	}
	generate := append(append([]string{}, defines...), "-a", model)
	compile := []string{"-O3", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"}
	for _, c := range []*exec.Cmd{exec.Command("spin", generate...), exec.Command("gcc", compile...)} {
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	return &Search{filepath.Join(dir, "pan"), slots}, nil
}

// Missing says whether there is no SPIN on this machine, and what to do then; nil if there is one.
func Missing() error {
	for _, name := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: install it with scripts/setup.sh spin", err)
		}
	}
	return nil
}

// Run searches all states, depth first, on one processor.
func (s *Search) Run() (*Result, error) {
	// A run may end anywhere, which is no error here (-E). No run of the models has 10,000 steps.
	c := exec.Command(s.program, "-E", "-m10000", fmt.Sprintf("-w%d", s.slots))
	c.Dir = filepath.Dir(s.program)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	r, err := parse(string(out))
	if err != nil {
		return nil, fmt.Errorf("%s: %w:\n%s", c, err, out)
	}
	r.Processor = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return r, nil
}

// What SPIN prints of a search. It counts megabytes of 2 to the power of 20 bytes.
var (
	stateLine      = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
	transitionLine = regexp.MustCompile(`(?m)^\s*(\d+) transitions`)
	errorLine      = regexp.MustCompile(`errors: (\d+)`)
	memoryLine     = regexp.MustCompile(`(?m)^\s*([0-9.]+)\s+` +
		`(?:actual memory usage for states|memory used for hash table)`)
)

// parse reads what a search has printed.
func parse(out string) (*Result, error) {
	r := &Result{}
	for _, f := range []struct {
		line *regexp.Regexp
		n    *int
	}{{stateLine, &r.States}, {transitionLine, &r.Transitions}, {errorLine, &r.Errors}} {
		found := f.line.FindStringSubmatch(out)
		if found == nil {
			return nil, fmt.Errorf("SPIN has printed nothing that matches %q", f.line)
		}
		*f.n, _ = strconv.Atoi(found[1])
	}
	// SPIN counts the first state as a transition.
	r.Transitions--
	if strings.Contains(out, "Search not completed") {
		return nil, errors.New("SPIN has not completed the search")
	}
	sizes := memoryLine.FindAllStringSubmatch(out, -1)
	if len(sizes) != 2 {
		return nil, errors.New("SPIN has not printed how much memory it takes")
	}
	for _, size := range sizes {
		megabytes, err := strconv.ParseFloat(size[1], 64)
		if err != nil {
			return nil, err
		}
		r.Bytes += int64(megabytes * (1 << 20))
	}
	return r, nil
}
