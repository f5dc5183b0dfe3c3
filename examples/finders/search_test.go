package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// row is a program of the table.
type row struct {
	family, name string
	shows        bug.Violation
	dir, pkg     string // the directory of its module or below, and its package from there
	args         []string
}

// rows are those of all families, in the order of the table: those of this command, those that need
// a module of their own, those of the gallery, and the libraries that need no peers.
func rows() ([]row, error) {
	var list []row
	for _, f := range families() {
		for _, b := range f.bugs {
			list = append(list, row{family: f.name, name: b.Name, shows: b.Shows, dir: ".", pkg: ".",
				args: []string{b.Name}})
		}
	}
	exhibits, err := gallery()
	list = append(list,
		row{family: "asynctimers", name: "async-ticker-deadlock", shows: bug.Deadlock, dir: "asynctimers",
			pkg: ".", args: []string{"async-ticker-deadlock"}},
		row{family: "asynctimers", name: "async-ticker-leak", shows: bug.Leak, dir: "asynctimers",
			pkg: ".", args: []string{"async-ticker-leak"}})
	return slices.Concat(list, exhibits, []row{
		{family: "libraries", name: "grpc", shows: bug.Exit, dir: "../libraries", pkg: "./grpc"},
		{family: "libraries", name: "websocket", shows: bug.DataRace, dir: "../libraries",
			pkg: "./websocket"},
	}), err
}

var exhibit = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)`: .* \\| ([a-z ]+) \\| \\d+ \\| \\d+ \\|$")

// gallery reads the table of the gallery, which its own test compares with what there is.
func gallery() (list []row, err error) {
	data, err := os.ReadFile("../gallery/README.md")
	for _, m := range exhibit.FindAllStringSubmatch(string(data), -1) {
		list = append(list, row{family: "gallery", name: m[1], shows: bug.Violation(m[2]), dir: "../gallery",
			pkg: ".", args: []string{m[1]}})
	}
	if err == nil && len(list) < 60 {
		err = fmt.Errorf("the gallery's table has %d rows, it is to have 60 at least", len(list))
	}
	return list, err
}

// limits end each search.
type limits struct {
	executions int
	time       time.Duration
}

// attempt is what one search of one program came to.
type attempt struct {
	Search     string
	Seed       uint64
	Violation  bug.Violation // that it found; empty: none
	Executions int
	Verdict    string // with the reason
	Processor  time.Duration
}

// bench runs searches. It builds each package once.
type bench struct {
	ctx     context.Context
	to      string // the directory for what is built
	limits  limits
	program map[string]*sut.Program
}

func newBench(ctx context.Context, to string, l limits) *bench {
	return &bench{ctx: ctx, to: to, limits: l, program: map[string]*sut.Program{}}
}

func (b *bench) build(r row) (*sut.Program, error) {
	key := filepath.Join(r.dir, r.pkg)
	if p := b.program[key]; p != nil {
		return p, nil
	}
	toolchain, err := sut.UserToolchain(b.ctx, r.dir)
	if err != nil {
		return nil, err
	}
	p, err := toolchain.Build(b.ctx, sut.BuildOptions{
		Dir: r.dir, Package: r.pkg, Races: configs.Default().Races,
		Output: filepath.Join(b.to, fmt.Sprint("program", len(b.program))),
	})
	b.program[key] = p
	return p, err
}

// search does what `tandem check --search NAME --seed SEED` does, with one worker and without what
// comes after the violation. Leaks are looked for where the bug is one.
func (b *bench) search(r row, fixed bool, name string, seed uint64) (attempt, error) {
	p, err := b.build(r)
	if err != nil {
		return attempt{}, err
	}
	config := configs.Default()
	config.Leaks, config.SelfCheck, config.Workers = r.shows == bug.Leak, 0, 1
	config.Bounds.Executions, config.Bounds.Time = b.limits.executions, b.limits.time
	config.Date = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	config.Args = r.args
	if fixed {
		config.Args = append(slices.Clone(r.args), "-fixed")
	}
	request := check.Request{
		Package: r.pkg, Config: config, Isolation: "snapshot",
		Search: check.SearchRequest{Name: name, Seed: seed, PCTDepth: 3},
	}
	o, err := request.Options()
	if err != nil {
		return attempt{}, err
	}
	o.Program = p
	begin := processorTime()
	result, err := check.Run(b.ctx, o)
	if err != nil {
		return attempt{}, fmt.Errorf("%s %s by %s: %w", r.name, config.Args, name, err)
	}
	return attempt{
		Search: name, Seed: seed, Violation: violation(result), Executions: result.Verdict.Executions,
		Verdict:   fmt.Sprintf("%v: %s", result.Verdict.Kind, result.Verdict.Reason),
		Processor: processorTime() - begin,
	}, nil
}

// violation is how the last execution of a search ended, in the gallery's words.
func violation(r *check.Result) bug.Violation {
	switch {
	case r.Verdict.Kind != explore.Violated || r.Recording == nil:
		return ""
	case r.Recording.Expect.Outcome == sut.Fatal.String():
		return bug.Panic
	}
	return bug.Violation(r.Recording.Expect.Outcome)
}

// processorTime is what this process has taken, and what its children have that have ended.
func processorTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
