package gotest

import (
	"slices"
	"strings"
)

// How far a test has come.
const (
	running = 1 + iota
	paused  // in t.Parallel
	passed
	failed
	skipped
)

// progress is what one execution of a test binary says of its tests.
type progress struct {
	names    []string // in the order in which they started
	state    map[string]int
	parallel map[string]bool
}

// states are the prefixes of the lines by which package testing tells what a test does.
var states = []struct {
	prefix string
	state  int
}{
	{"=== RUN   ", running}, {"=== PAUSE ", paused}, {"=== CONT  ", running},
	{"--- PASS: ", passed}, {"--- FAIL: ", failed}, {"--- SKIP: ", skipped},
}

// readProgress reads what a test binary has printed. Only what follows a marker counts, and of that
// the first line.
func readProgress(stdout []byte) progress {
	p := progress{state: map[string]int{}, parallel: map[string]bool{}}
	for _, marked := range strings.Split(string(stdout), marker)[1:] {
		line, _, _ := strings.Cut(marked, "\n")
		for _, s := range states {
			name, ok := strings.CutPrefix(line, s.prefix)
			if !ok {
				continue
			}
			if s.state >= passed {
				name = withoutTime(name)
			}
			if p.state[name] == 0 {
				p.names = append(p.names, name)
			}
			p.state[name] = s.state
			p.parallel[name] = p.parallel[name] || s.state == paused
		}
	}
	return p
}

// parent is the test that a subtest is directly part of. Names of subtests may contain slashes, so
// that only the names of all tests tell.
func (p *progress) parent(subtest string) string {
	longest := ""
	for _, name := range p.names {
		if strings.HasPrefix(subtest, name+"/") && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// below lists the subtests of a test, and theirs. The order is that in which they started.
func (p *progress) below(test string) []string {
	return slices.DeleteFunc(slices.Clone(p.names), func(name string) bool {
		return !strings.HasPrefix(name, test+"/")
	})
}

// children are the subtests that a test consists of: all of them, or only those that are not
// parallel.
func (p *progress) children(test string, onlySerial bool) []string {
	var list []string
	for _, name := range p.names {
		if !(onlySerial && p.parallel[name]) && p.parent(name) == test {
			list = append(list, name)
		}
	}
	return list
}

// blamed are the tests that a violation is one of: those that say so, else those that were under
// way, else the test itself. What fails only since a subtest has is not among them.
func (p *progress) blamed(test string) []string {
	for _, state := range []int{failed, running} {
		var list []string
		for _, name := range p.names {
			inner := func(below string) bool { return p.state[below] == state }
			if p.state[name] == state && !slices.ContainsFunc(p.below(name), inner) {
				list = append(list, name)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return []string{test}
}
