// Command bench measures what must not get slower, and compares it with what was measured
// before. It runs in the root of the repository, as root, after make build:
//
//	go run ./scripts/bench run                 measure, and write bin/bench.txt
//	go run ./scripts/bench compare             compare that with the kept file, and print ratios
//	go run ./scripts/bench keep                put it in the place of the kept file
//	go run ./scripts/bench against COMMIT      measure COMMIT and this tree in turns, and compare
//
// Files have the format of Go's benchmarks, with facts of the machine and the commit at the
// beginning. Numbers of different machines, or of a machine under other load, do not compare:
// "against" is for that.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/scripts/internal/tests"
)

// Files, from the root of the repository.
const (
	results = "bin/bench.txt"
	kept    = "scripts/bench/kept.txt"
)

// hot are the benchmarks of what every check does all the time: executions in a second of the bench
// program, what the search itself takes, an exchange with the program, a hit of the cache, a dump
// and a restore. An older tree may lack some of them.
var hot = []string{
	"BenchmarkLastZero", "BenchmarkExchange", "BenchmarkCacheHit", "BenchmarkHit", "BenchmarkDump",
	"BenchmarkRestore", "BenchmarkReport",
}

// main has the exit code 1 for an error, which it writes to standard error.
func main() {
	all := flag.Bool("all", false, "measure all benchmarks, and not only the hot ones")
	rounds := flag.Int("rounds", 5, "how often each is measured")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "bench [FLAGS] run | compare | keep | against COMMIT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(flag.Args(), *all, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run does what the arguments say. It runs in the root of the repository.
func run(args []string, all bool, rounds int) error {
	switch {
	case slices.Equal(args, []string{"run"}):
		return measure(map[string]string{".": results}, all, rounds)
	case slices.Equal(args, []string{"compare"}):
		return compare(os.Stdout, kept, results)
	case slices.Equal(args, []string{"keep"}):
		data, err := os.ReadFile(results)
		if err != nil {
			return err
		}
		return os.WriteFile(kept, data, 0o644)
	// A commit is anything that git takes for one.
	case len(args) == 2 && args[0] == "against":
		return against(args[1], all, rounds)
	}
	flag.Usage()
	return errors.New("what is to be done?")
}

// against measures a commit and this tree in turns, so that both have the same machine and load.
// The commit gets a working tree of its own, with binaries of its own, which is removed at the end.
func against(commit string, all bool, rounds int) (err error) {
	directory, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	tree, before := filepath.Join(directory, "tree"), filepath.Join(directory, "before.txt")
	if err := execute(".", "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, execute(".", "git", "worktree", "remove", "--force", tree)) }()
	if err := execute(tree, "make", "build"); err != nil {
		return err
	}
	if err := measure(map[string]string{tree: before, ".": results}, all, rounds); err != nil {
		return err
	}
	return compare(os.Stdout, before, results)
}

// measure runs the benchmarks of each tree, and writes what they say to its file. The trees take
// turns within each round, so that a change of the load meets them all. The first round writes the
// files anew.
func measure(trees map[string]string, all bool, rounds int) error {
	var directories []string
	for directory := range trees {
		directories = append(directories, directory)
	}
	slices.Sort(directories)
	for round := range rounds {
		for _, directory := range directories {
			output, err := benchmarks(directory, all)
			if err != nil {
				return err
			}
			// The load is that of the beginning.
			if round == 0 {
				output = facts(directory) + output
			}
			if err := write(trees[directory], output, round > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing lists the hot benchmarks that a tree does not have.
func missing(found []tests.Function) (gone []string) {
	for _, name := range hot {
		if !slices.ContainsFunc(found, func(f tests.Function) bool { return f.Name == name }) {
			gone = append(gone, name)
		}
	}
	return gone
}

// write puts a text into a file, behind what there is if there is to be more of it.
func write(name, text string, more bool) error {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if more {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// benchmarks runs those of a tree once. Packages are run one after the other, in alphabetical
// order, and with the binaries of the tree. What they say is shown, too.
func benchmarks(directory string, all bool) (string, error) {
	found, err := tests.Find(directory, "Benchmark")
	if err != nil {
		return "", err
	}
	if gone := missing(found); directory == "." && len(gone) > 0 { // an older tree may have others
		return "", fmt.Errorf("there is no %s any more: mend the list of what is measured",
			strings.Join(gone, ", "))
	}
	// By the directory of the package, whose benchmarks run in one process.
	names := map[string][]string{}
	for _, f := range found {
		if all || slices.Contains(hot, f.Name) {
			names[f.Directory] = append(names[f.Directory], f.Name)
		}
	}
	var packages []string
	for name := range names {
		packages = append(packages, name)
	}
	slices.Sort(packages)
	bin, err := filepath.Abs(filepath.Join(directory, "bin"))
	if err != nil {
		return "", err
	}
	var output strings.Builder
	for _, name := range packages {
		// Whole names only: a prefix would select others, too.
		expression := "^(" + strings.Join(names[name], "|") + ")$"
		test := exec.Command("go", "test", "./"+name, "-run", "^$", "-bench", expression, "-timeout", "30m")
		test.Dir, test.Stderr = directory, os.Stderr
		test.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		said, err := test.Output()
		os.Stdout.Write(said)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		output.Write(said)
	}
	return output.String(), nil
}

// facts are what numbers depend on, as lines of a file of benchmarks. A fact that cannot be found
// out is unknown, and no error: the numbers are worth keeping.
func facts(directory string) string {
	ask := func(name string, args ...string) string {
		command := exec.Command(name, args...)
		command.Dir = directory
		said, err := command.Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(said))
	}
	return fmt.Sprintf("commit: %s\ngo: %s\nkernel: %s\nprocessors: %s\nload: %s\n",
		ask("git", "describe", "--always", "--dirty"), ask("go", "env", "GOVERSION"), ask("uname", "-r"),
		ask("nproc"), ask("cut", "-d ", "-f1-3", "/proc/loadavg"))
}

// execute runs a command whose output is of no interest, unless it fails. The error has all of its
// output.
func execute(directory, name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Dir = directory
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return nil
}
