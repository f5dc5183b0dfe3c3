package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// programs are those of examples/classics, in C.
//
//go:embed programs/*.c
var programs embed.FS

// patience is how long a run may take. Those that compare take a minute or two.
const patience = 20 * time.Minute

// tool is a model checker, with settings.
type tool struct {
	name string
	// missing says why it cannot be used, and what to do then.
	missing func() error
	// command checks a program, with sources in C in some directory.
	command func(dir string, r row) []string
	// count reads the number of executions from what the tool has printed.
	count func(out []byte) (int, error)
}

// result is what one run took. The processor time is that of all its processes, and has what
// compiling takes.
type result struct {
	executions int
	processor  time.Duration
}

// all are the tools, in the order of the columns.
func all() []tool {
	tools := []tool{nidhugg(), genMC()}
	for _, workers := range []int{1, 2} {
		for _, races := range []string{"off", "direct"} {
			tools = append(tools, tandem(workers, races))
		}
	}
	return tools
}

// nidhugg is the one with optimal DPOR (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
func nidhugg() tool {
	return tool{
		name:    "Nidhugg",
		missing: installed("nidhuggc"),
		command: func(dir string, r row) []string {
			return []string{"nidhuggc", "-std=gnu11", fmt.Sprintf("-DN=%d", r.n), "--", "--sc", "--optimal",
				source(dir, r)}
		},
		count: printed(`Trace count: (\d+)`),
	}
}

// genMC is Kokologiannakis, Vafeiadis: "GenMC: A Model Checker for Weak Memory Models", CAV 2021.
// What it knows of symmetries is left out: it would have fewer executions than there are orders.
func genMC() tool {
	return tool{
		name:    "GenMC",
		missing: installed("genmc"),
		command: func(dir string, r row) []string {
			return []string{"genmc", "--sc", "--disable-estimation", "--disable-sr", "--disable-spin-assume",
				"--disable-ipr", "--disable-bam", "--", "-std=gnu11", fmt.Sprintf("-DN=%d", r.n),
				source(dir, r)}
		},
		count: printed(`complete executions explored: (\d+)`),
	}
}

// tandem is the executable that make build makes.
func tandem(workers int, races string) tool {
	name := "Tandem, 1 worker"
	if workers > 1 {
		name = fmt.Sprintf("%d workers", workers)
	}
	return tool{
		name: name + ", races " + races,
		missing: func() error {
			if _, err := os.Stat("bin/tandem"); err != nil {
				return errors.New("bin/tandem is not there: run make build, in the root of the repository")
			}
			return nil
		},
		command: func(_ string, r row) []string {
			return []string{"bin/tandem", "check", "./examples/classics", "--json", "--search", "dpor",
				"--workers", strconv.Itoa(workers), "--races", races, "--executions", "10000000",
				"--", r.program, strconv.Itoa(r.n)}
		},
		count: func(out []byte) (int, error) {
			var r struct {
				Verdict, Reason string
				Counts          struct{ Executions int }
			}
			if err := json.Unmarshal(out, &r); err != nil {
				return 0, err
			}
			if r.Verdict != "holds" {
				return 0, fmt.Errorf("the verdict is %s: %s", r.Verdict, r.Reason)
			}
			return r.Counts.Executions, nil
		},
	}
}

// installed says whether a command is in the path.
func installed(command string) func() error {
	return func() error {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%w: scripts/bench/others/install.sh installs it", err)
		}
		return nil
	}
}

// printed reads a number that a tool has printed.
func printed(expression string) func([]byte) (int, error) {
	line := regexp.MustCompile(expression)
	return func(out []byte) (int, error) {
		found := line.FindSubmatch(out)
		if found == nil {
			return 0, fmt.Errorf("nothing that was printed matches %q:\n%s", line, out)
		}
		return strconv.Atoi(string(found[1]))
	}
}

// source is the file of a row's program.
func source(dir string, r row) string { return filepath.Join(dir, "programs", r.program+".c") }

// write puts the programs in C into a directory.
func write(dir string) error { return os.CopyFS(dir, programs) }

// run checks one program. What a tool has printed is in the error, since it alone knows what it did
// not like.
func (t tool) run(dir string, r row) (result, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	command := t.command(dir, r)
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return result{}, fmt.Errorf("%w\n%s%s", err, out, said.Bytes())
	}
	n, err := t.count(out)
	return result{n, c.ProcessState.UserTime() + c.ProcessState.SystemTime()}, err
}
