// Command fuzz runs all fuzz targets of the module one after the other, each for a bounded time.
// It finds them by itself, so a new one needs no entry anywhere. It runs in the root of the
// repository: make fuzz, or go run ./scripts/fuzz -targets 'iocache|Decode' -time 10m.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/scripts/internal/tests"
)

// main has the exit code 1 where a target has failed.
func main() {
	bound := flag.Duration("time", time.Minute, "how long each target runs")
	wanted := flag.String("targets", ".", "`expression` that DIRECTORY Name of the targets to run matches")
	list := flag.Bool("list", false, "list the targets, and run none")
	flag.Parse()
	if err := run(*bound, *wanted, *list); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// run runs the targets that match, or lists them. All of them run, also after one that has failed;
// the error names those.
func run(bound time.Duration, wanted string, list bool) error {
	// An empty expression would match all, too.
	matches, err := regexp.Compile(wanted)
	if err != nil {
		return fmt.Errorf("-targets: %w", err)
	}
	// They are looked for in the whole module, and in examples that are modules of their own.
	targets, err := tests.Find(".", "Fuzz")
	if err != nil {
		return err
	}
	var failed []string
	for _, t := range targets {
		switch {
		case !matches.MatchString(t.String()):
		case list:
			fmt.Println(t)
		// What it has found is written to testdata by the go command, and runs with the tests from
		// then on.
		case fuzz(t, bound) != nil:
			failed = append(failed, t.String())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("these have failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// fuzz says on the terminal what is wrong. Minimizing an input is bounded, since that counts for
// the time.
func fuzz(t tests.Function, bound time.Duration) error {
	fmt.Println(t)
	test := exec.Command("go", "test", "./"+t.Directory, "-run", "^$", "-fuzz", "^"+t.Name+"$",
		"-fuzztime", bound.String(), "-fuzzminimizetime", "100x")
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	return test.Run()
}
