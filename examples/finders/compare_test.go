package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// comparer is set in the environment of the processes that run the searches. Each of them runs one
// at a time, so that the processor time of a search is what its process takes meanwhile.
const comparer = "TANDEM_FINDERS_COMPARER"

func TestMain(m *testing.M) {
	if os.Getenv(comparer) == "" {
		os.Exit(m.Run())
	}
	flag.Parse()
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// compare runs all searches on all rows: one row on each processor. What is found has to be the
// known bug; but some bugs of the gallery show themselves in more than one way.
func compare(t *testing.T, list []row) []line {
	t.Helper()
	lines, next := make([]line, len(list)), make(chan int)
	var comparers sync.WaitGroup
	for range min(runtime.NumCPU(), len(list)) {
		comparers.Go(func() {
			if err := askComparer(t.Context(), list, next, lines); err != nil {
				t.Error(err)
				for range next { // it cannot take part any more
				}
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	comparers.Wait()
	for _, l := range lines {
		for _, a := range slices.Concat(l.cells...) {
			if a.Violation != "" && a.Violation != l.shows && l.family != "gallery" {
				t.Errorf("%s: %s with seed %d finds a %s, and the bug is a %s", l.name, a.Search, a.Seed,
					a.Violation, l.shows)
			}
		}
	}
	return lines
}

// askComparer starts a comparer, and hands it one row after the other.
func askComparer(ctx context.Context, list []row, next <-chan int, lines []line) error {
	child := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	child.Env = append(child.Environ(), comparer+"=1")
	child.Stderr = os.Stderr
	asked, err := child.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	decoder := json.NewDecoder(answers)
	for i := range next {
		lines[i].row = list[i]
		if _, err = fmt.Fprintln(asked, list[i].name); err == nil {
			err = decoder.Decode(&lines[i].cells)
		}
		if err != nil {
			err = fmt.Errorf("%s: the process that runs its searches: %w", list[i].name, err)
			break
		}
	}
	return errors.Join(err, asked.Close(), child.Wait())
}

// serve runs the searches on the rows that it is given by name, and writes the cells of each.
func serve(ctx context.Context, asked io.Reader, answers io.Writer) error {
	directory, err := os.MkdirTemp("", "tandem-finders-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	list, err := rows()
	if err != nil {
		return err
	}
	b := newBench(ctx, directory, limits{executions: *executionFlag, time: *timeFlag})
	names := bufio.NewScanner(asked)
	for names.Scan() {
		at := slices.IndexFunc(list, func(r row) bool { return r.name == names.Text() })
		if at < 0 {
			return fmt.Errorf("%q is no row", names.Text())
		}
		var cells []cell
		for _, name := range searches() {
			c, err := b.cell(list[at], name)
			if err != nil {
				return err
			}
			cells = append(cells, c)
		}
		if err := json.NewEncoder(answers).Encode(cells); err != nil {
			return err
		}
	}
	return names.Err()
}

// cell runs a search with its seeds: with more of them if it finds the bug soon with the first few.
// It gives up when most of those have found nothing.
func (b *bench) cell(r row, name string) (c cell, err error) {
	tries := seeds
	if slices.Contains(undrawn, name) {
		tries = 1
	}
	missed, executions := 0, 0
	for seed := 1; seed <= tries && missed <= seeds/2; seed++ {
		a, err := b.search(r, false, name, uint64(seed))
		if err != nil {
			return nil, err
		}
		if executions += a.Executions; a.Violation == "" {
			missed++
		}
		if c = append(c, a); seed == seeds && executions <= soon*seeds {
			tries = moreSeeds
		}
	}
	return c, nil
}
