package testkit

import (
	"cmp"
	"flag"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Half of what rapid would check otherwise; make deep has all, by -rapid.checks.
func init() {
	if err := flag.Set("rapid.checks", "50"); err != nil {
		panic(err)
	}
}

// Profile says what random programs are made of.
type Profile struct {
	Blocks []string // "|" stands for a nested block, "_" for the goroutine's own name
	Seal   bool     // some operations are sealed
	Size   int      // blocks per goroutine when there are two; 3 by default
	apart  bool     // main only starts the others, of which there may be one more
}

// blocks of which none ends the program early: all executions are maximal, and
// DPOR must find exactly the partial orders that there are.
var (
	Variables = []string{"load r0 x", "store x 1", "inc x r0", "store y 2", "load r1 y"}
	Mutexes   = []string{"lock m; |; unlock m", "lock m; |; unlock m", "lock n; |; unlock " +
		"n", "lock m; unlock m"}
	Rwmutexes  = []string{"rlock m; |; runlock m", "rlock m; |; runlock m", "lock m; |; unlock m"}
	WaitGroups = []string{"add w 1; |; done w", "add w 1; done w", "add w 2; done w; |; done w", "wait w"}
	Channels   = []string{"send c 1", "recv r0 c", "send b1 2", "recv r1 b1", "select r2 c b1",
		"send d 3", "select r2 c d",
		"either r2 c d 4", "either r2 d b1 " +
			"5", "either r2 c c 8", "poll r0 c", "poll r1 b1", "offer r1 c 6", "offer r0 d 7"}
	Choices  = []string{"choose r0 2", "choose r1 3"}
	Times    = []string{"sleep 1", "sleep 2"}
	Branches = []string{"skip r0 0 1; store x 3", "skip r1 1 2; load r0 x; store y 3", "skip r2 2 1; inc " +
		"y r0"}
	// What a program says to a directed search.
	Estimates = []string{"estimate 1", "estimate 2", "skip r0 0 1; estimate 0"}
	// Of these, nothing is sealed that is always executed, and every transition up to that is a
	// single access.
	ifs = []string{"store x 1", "store y 1", "store z 1", "load r0 x", "load r2 z", "load r0 x; skip r0 1 " +
		"1; .store y 3", "load r0 x; skip r0 1 1; .load r1 y",
		"load r1 y; skip r1 1 1; .store x 3", "load r1 y; skip r1 1 1; .store z 2", "load r2 z; skip r2 1 " +
			"1; .store x 2"}
	// Of these, with sealed operations, little is certain about what a transition would have done
	// in another place.
	meetings = []string{"store x 1", "load r0 x", "send c 1", "send d 2", "recv r0 c", "recv r1 d",
		"select r2 c d", "either r2 c d 4",
		"either r2 d c 5", "poll r0 c", "offer r1 c 3", "offer r0 d 7", "lock m; |; unlock m"}
	buffers = []string{"store x 1", "load r0 x", "send b1 1", "send a1 2", "recv r0 b1", "recv r1 a1",
		"select r2 a1 b1", "either r2 a1 b1 4",
		"either r2 b1 a1 " +
			"5", "poll r0 a1", "offer r1 a1 3", "offer r0 b2 7", "recv r1 b2", "lock m; |; unlock " +
			"m", "lock m; |; unlock m"}
	ways = []string{"store x 1", "load r0 x", "store y 1", "load r1 y", "choose r0 2; skip r0 0 1; .store " +
		"x 2; .load r1 y",
		"choose r0 2; .skip r0 1 1; .load r1 x", "choose r0 2; skip r0 1 1; .load r1 x; skip r0 0 1; " +
			".load r1 y",
		"select r2 a1 b1; skip r2 1 1; .load r0 x; skip r2 2 1; .load r1 y", "either r2 b1 a1 5; skip r2 " +
			"2 1; .store x 3", "send a1 1",
		"send b1 2", "offer r2 c 3; skip r2 0 1; .store x 4; skip r2 1 1; .load r1 y", "recv r1 c",
		"offer r2 c 3; skip r2 0 1; .recv r1 d; skip r2 1 1; .load r1 y", "recv r0 c; send d 1",
		"lock m; choose r0 2; skip r0 0 1; .store x 2; unlock m"}
	// These may end the program while others could go on.
	Closings = []string{"close c", "close d", "close b1"}
	Endings  = []string{"close c", "close b1", "unlock m", "load r0 x; assert r0 " +
		"0", "exit 1", "exit 0", "done v", "lock m; unlock m; assert r0 1"}
)

// Join is all lists, one after the other.
func Join(lists ...[]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// Generate draws a program.
func (f Profile) Generate(t *rapid.T) *Program {
	names := []string{"p", "q", "r", "s"}[:rapid.IntRange(1, 3).Draw(t, "goroutines")+btoi(f.apart)]
	size := max(1, cmp.Or(f.Size, 3)+2-len(names))
	var text strings.Builder
	var main []string
	if !f.apart {
		main = f.body(t, rapid.IntRange(0, size-1).Draw(t, "size of main"))
	}
	for _, name := range names {
		at := rapid.IntRange(0, min(1, len(main))).Draw(t, "go at")
		main = append(main[:at:at], append([]string{"go " + name}, main[at:]...)...)
	}
	fmt.Fprintf(&text, "main: %s\n", strings.Join(main, ";"))
	for _, name := range names {
		body := f.body(t, rapid.IntRange(1, size).Draw(t, "size"))
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(body, ";"))
	}
	return ParseProgram(text.String())
}

func (f Profile) body(t *rapid.T, blocks int) (operations []string) {
	for range blocks {
		operations = append(operations, f.block(t, 2)...)
	}
	return operations
}

func (f Profile) block(t *rapid.T, depth int) (operations []string) {
	for part := range strings.SplitSeq(rapid.SampledFrom(f.Blocks).Draw(t, "block"), ";") {
		part = strings.TrimSpace(part)
		switch {
		case part == "|" && depth > 0 && rapid.Bool().Draw(t, "nest"):
			operations = append(operations, f.block(t, depth-1)...)
		case part == "|":
		case f.Seal && f.sealable(part) && rapid.Bool().Draw(t, "seal"):
			operations = append(operations, "."+part)
		default:
			operations = append(operations, part)
		}
	}
	return operations
}

func (f Profile) sealable(operation string) bool {
	return !strings.HasPrefix(operation, "choose") && !strings.HasPrefix(operation, ".")
}

// Profiles are those of programs whose executions all run to their end.
var Profiles = []struct {
	Name string
	Profile
	Coarse bool // some executions are redundant
}{
	{Name: "variables", Profile: Profile{Blocks: Variables}},
	{Name: "mutexes", Profile: Profile{Blocks: Join(Mutexes, Variables)}},
	{Name: "rwmutexes", Profile: Profile{Blocks: Join(Rwmutexes, Variables[:2])}},
	{Name: "wait groups", Profile: Profile{Blocks: Join(WaitGroups, Variables[:2])}},
	{Name: "channels", Profile: Profile{Blocks: Join(Channels, Variables[:2])}},
	{Name: "choices", Profile: Profile{Blocks: Join(Choices, Variables, Branches)}},
	{Name: "times", Profile: Profile{Blocks: Join(Times, Variables, Mutexes)}},
	{Name: "everything", Profile: Profile{Blocks: Join(Variables, Mutexes, WaitGroups, Channels, Choices,
		Times, Branches)}},
	{Name: "sealed", Profile: Profile{Blocks: Join(Variables, Mutexes, WaitGroups, Channels, Times,
		Choices), Seal: true, Size: 4}},
	{Name: "apart", Profile: Profile{Blocks: Join(Variables[:2], Channels, Mutexes[3:]), Seal: true,
		apart: true, Size: 5}},
	{Name: "meetings", Profile: Profile{Blocks: meetings, Seal: true, apart: true, Size: 5}},
	{Name: "meetings and " +
		"more", Profile: Profile{Blocks: Join(meetings, Channels, Choices, WaitGroups[:1], Times),
		Seal: true, Size: 5}},
	{Name: "buffers", Profile: Profile{Blocks: buffers, Seal: true, apart: true, Size: 5}},
	{Name: "ways to go on", Profile: Profile{Blocks: ways, Seal: true, apart: true, Size: 5}},
	{Name: "sealed at times", Profile: Profile{Blocks: ifs, apart: true, Size: 4}},
	{Name: "sealed locks", Profile: Profile{Blocks: Join(Variables[:2], Mutexes, Rwmutexes, WaitGroups),
		Seal: true, apart: true, Size: 5}, Coarse: true},
}
