// Command finders has programs by which searches are compared: how many executions each takes to
// find a known bug. Every program has a twin in which the bug is fixed:
//
//	tandem check ./examples/finders -- NAME         the program with the bug
//	tandem check ./examples/finders -- NAME -fixed  the program without it
//	go run ./examples/finders -list                 what there is
//
// `make finders` prints the table of README.md.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/tandem-mc/tandem/examples/finders/clock"
	"github.com/tandem-mc/tandem/examples/finders/cs"
	"github.com/tandem-mc/tandem/examples/finders/forks"
	"github.com/tandem-mc/tandem/examples/finders/kernels"
	"github.com/tandem-mc/tandem/examples/finders/long"
	"github.com/tandem-mc/tandem/examples/finders/stealing"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if slices.Equal(args, []string{"-list"}) {
		list()
		return nil
	}
	fixed := len(args) == 2 && args[1] == "-fixed"
	if len(args) != 1 && !fixed {
		return fmt.Errorf("give one name, and -fixed for the program without the bug, and not %q", args)
	}
	at := slices.IndexFunc(all, func(b bug.Bug) bool { return b.Name == args[0] })
	switch {
	case at < 0:
		return fmt.Errorf("%q is no name of a program: -list shows them", args[0])
	case fixed:
		all[at].Fixed()
	default:
		all[at].Buggy()
	}
	return nil
}

// family is a group of programs, in a package of its own.
type family struct {
	name  string // of the package
	about string
	bugs  []bug.Bug
}

func families() []family {
	return []family{
		{"forks", "dining philosophers in large numbers", forks.Bugs()},
		{"cs", "small programs of SCTBench", cs.Bugs()},
		{"stealing", "work-stealing queues and a stack without locks, after SCTBench", stealing.Bugs()},
		{"kernels", "kernels of real programs, after SCTBench", kernels.Bugs()},
		{"long", "programs with some thousand steps", long.Bugs()},
		{"clock", "programs that rely on how time passes", clock.Bugs()},
	}
}

// all are the programs of all families. They are listed once for all executions, before main.
var all = programs()

func programs() (list []bug.Bug) {
	for _, f := range families() {
		list = append(list, f.bugs...)
	}
	return list
}

func list() {
	for _, f := range families() {
		fmt.Printf("%s: %s\n", f.name, f.about)
		for _, b := range f.bugs {
			fmt.Printf("  %-38s %s\n", b.Name, b.Doc)
		}
	}
}
