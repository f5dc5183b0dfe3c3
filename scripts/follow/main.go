// Command follow does what a document says, to the letter: it writes the files that the document
// shows, types its commands, and compares what they print with what is shown below them. So a
// document that has become wrong is noticed before a reader does.
//
//	go run ./scripts/follow docs/tutorial.md
//
// Each document begins in an empty directory, which is removed at the end. Commands run in sh, with
// the environment of the caller: tandem must be in the path. It needs no other module than this
// one, so it can be built on one machine and run on another.
//
// How a document has to be written for this is described at parse, compare and applyChange. The
// exit code of a command must be 0, or that of the verdict whose headline is shown (1 for VIOLATED,
// 2 for UNKNOWN), or looked at by the command "echo $?" next.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	patience := flag.Duration("timeout", 15*time.Minute, "how long a command may take")
	verbose := flag.Bool("v", false, "print what commands print")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: follow [-v] [-timeout DURATION] DOCUMENT...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(3)
	}
	// All documents are followed, also after one that is wrong.
	failed := false
	for _, name := range flag.Args() {
		if err := follow(name, *patience, *verbose); err != nil {
			fmt.Fprintf(os.Stderr, "%s:%v\n", name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// follow does what one document says. An error begins with the line of the document.
func follow(name string, patience time.Duration, verbose bool) (err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("1: %w", err)
	}
	steps, err := parse(string(text))
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	if len(steps) == 0 {
		return errors.New("1: there is nothing to do in it")
	}
	dir, err := os.MkdirTemp("", "follow-")
	if err != nil {
		return fmt.Errorf("1: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := newReader(dir, patience, os.Stdout, verbose)
	if err != nil {
		return fmt.Errorf("1: %w", err)
	}
	defer func() { err = errors.Join(err, r.close()) }()

	// How long it takes to a bug is what a newcomer judges a tool by.
	begun, violated := time.Now(), false
	for i, s := range steps {
		// An exit code that the next command prints is no error.
		next := ""
		if i+1 < len(steps) {
			next = steps[i+1].command
		}
		printed, err := r.do(s, next)
		if err != nil {
			return fmt.Errorf("%d: %w\n%s", s.line, err, printed)
		}
		if !violated && strings.Contains("\n"+printed, "\nVIOLATED") {
			violated = true
			fmt.Printf("%s: the first bug after %v\n", name, time.Since(begun).Round(time.Second))
		}
	}
	fmt.Printf("%s: as it says, %d steps in %v\n", name, len(steps), time.Since(begun).Round(time.Second))
	return nil
}
