package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// series has the values of a benchmark in one unit, in the order of the file. A benchmark that was
// run several times has several values.
type series struct {
	name, unit string
	values     []float64
}

// compare prints how the medians of two files differ, and what benchstat says of their spread. The
// spread tells whether a difference means something. Its output and the ratios go to out.
func compare(out io.Writer, before, after string) error {
	old, err := read(before)
	if err != nil {
		return err
	}
	now, err := read(after)
	if err != nil {
		return err
	}
	if err := ratios(out, old, now); err != nil {
		return err
	}
	stat := exec.Command("go", "tool", "benchstat", before, after)
	stat.Stdout, stat.Stderr = out, os.Stderr
	fmt.Fprintln(out)
	return stat.Run()
}

// ratios prints a line for each benchmark that both have. One that is missing now is an error. One
// that is new has nothing to be compared with, and is left out.
func ratios(out io.Writer, old, now []series) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "benchmark\tunit\tbefore\tnow\tnow/before")
	for _, s := range now {
		// Names and units must both be the same.
		i := slices.IndexFunc(old, func(o series) bool { return o.name == s.name && o.unit == s.unit })
		if i < 0 {
			continue
		}
		before, after := median(old[i].values), median(s.values)
		// There is no ratio to nothing.
		if before == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g\t%.4g\t%.3f\n", s.name, s.unit, before, after, after/before)
	}
	var gone []string
	for _, o := range old {
		if !slices.ContainsFunc(now, func(s series) bool { return o.name == s.name && o.unit == s.unit }) {
			gone = append(gone, o.name+" in "+o.unit)
		}
	}
	if err := w.Flush(); err != nil || len(gone) == 0 {
		return err
	}
	return fmt.Errorf("measured before, and not now: %s", strings.Join(gone, ", "))
}

// read reads a file of benchmarks, of which there must be some: an empty one would compare well.
func read(name string) ([]series, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	all := parse(string(data))
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there is no benchmark", name)
	}
	return all, nil
}

// parse reads lines BenchmarkName-2 100 12.5 ns/op 3 allocs/op. Packages may move, so they do not
// count. Every second field is a value, and the one after it its unit. Other lines are skipped.
func parse(text string) (all []series) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break
			}
			j := slices.IndexFunc(all, func(s series) bool {
				return s.name == fields[0] &&
					s.unit == fields[i+1]
			})
			if j < 0 {
				j = len(all)
				all = append(all, series{name: fields[0], unit: fields[i+1]})
			}
			all[j].values = append(all[j].values, value)
		}
	}
	return all
}

// median is the value in the middle, or the mean of the two there. There must be one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	// For an even number, the second of the two in the middle.
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}
