// Command gallery has small programs with known concurrency bugs, each with a
// twin in which the bug is fixed:
//
//	tandem check ./examples/gallery -- NAME         the program with the bug
//	tandem check ./examples/gallery -- NAME -fixed  the program without it
//	go run ./examples/gallery -list                 what there is
//
// They were written for Tandem. Their classes are those of three studies of
// concurrency bugs in real Go programs:
//
//   - Tu, Liu, Song, Zhang, "Understanding Real-World Concurrency Bugs in Go",
//     ASPLOS 2019
//   - Yuan, Li, Lu, Liu, Li, Xue, "GoBench: A Benchmark Suite of Real-World Go
//     Concurrency Bugs", CGO 2021
//   - Chabbi, Ramanathan, "A Study of Real-World Data Races in Golang", PLDI 2022
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
	"github.com/tandem-mc/tandem/examples/gallery/channels"
	"github.com/tandem-mc/tandem/examples/gallery/closing"
	"github.com/tandem-mc/tandem/examples/gallery/contexts"
	"github.com/tandem-mc/tandem/examples/gallery/harness"
	"github.com/tandem-mc/tandem/examples/gallery/locks"
	"github.com/tandem-mc/tandem/examples/gallery/mixed"
	"github.com/tandem-mc/tandem/examples/gallery/ordering"
	"github.com/tandem-mc/tandem/examples/gallery/races"
	"github.com/tandem-mc/tandem/examples/gallery/servers"
	"github.com/tandem-mc/tandem/examples/gallery/timing"
	"github.com/tandem-mc/tandem/examples/gallery/waiting"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(args []string) error {
	var name string
	var fixed bool
	for _, arg := range args {
		switch {
		case arg == "-list":
			list()
			return nil
		case arg == "-fixed":
			fixed = true
		case name == "":
			name = arg
		default:
			return fmt.Errorf("%s: one name is enough; the one here is %s", arg, name)
		}
	}
	at := slices.IndexFunc(all, func(b bug.Bug) bool { return b.Name == name })
	switch {
	case at < 0:
		return fmt.Errorf("%q is no bug of the gallery: -list shows their names", name)
	case fixed:
		all[at].Fixed()
	default:
		all[at].Buggy()
	}
	return nil
}

// room is a part of the gallery, in a package of its own.
type room struct {
	name  string // of the package
	about string
	bugs  []bug.Bug
}

func rooms() []room {
	return []room{
		{"locks", "double locking, lock order, missing unlock, readers and writers", locks.Bugs()},
		{"channels", "missing sender or receiver, full buffers, select", channels.Bugs()},
		{"waiting", "WaitGroup, Cond, Once", waiting.Bugs()},
		{"contexts", "cancellations that do not arrive", contexts.Bugs()},
		{"mixed", "channel and lock, channel and WaitGroup, pipes", mixed.Bugs()},
		{"ordering", "atomicity and order violations, misuse of atomics and sync.Pool", ordering.Bugs()},
		{"races", "data races", races.Bugs()},
		{"closing", "channels closed twice, or too early", closing.Bugs()},
		{"timing", "misuse of timers and tickers", timing.Bugs()},
		{"harness", "misuse of package testing", harness.Bugs()},
		{"servers", "net and net/http", servers.Bugs()},
	}
}

// all are the bugs of all rooms. They are listed before main begins, once for all executions.
var all = bugs()

func bugs() (list []bug.Bug) {
	for _, r := range rooms() {
		list = append(list, r.bugs...)
	}
	return list
}

func list() {
	for _, r := range rooms() {
		fmt.Printf("%s: %s\n", r.name, r.about)
		for _, b := range r.bugs {
			fmt.Printf("  %-26s %s\n", b.Name, b.Doc)
		}
	}
}
