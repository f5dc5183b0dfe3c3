package sut_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// traced is one operation of a trace of testdata/racy/interpret.go.
type traced struct {
	goroutine int
	op        byte
	object    int
	observed  int
	after     []int // operations that happen just before it, by index
}

func parseTrace(t *testing.T, text string) []traced {
	t.Helper()
	var list []traced
	for line := range strings.Lines(text) {
		var x traced
		if _, err := fmt.Sscanf(line, "%1d%c%1d %d\n", &x.goroutine, &x.op, &x.object,
			&x.observed); err != nil {
			t.Fatalf("trace %q: %v", line, err)
		}
		list = append(list, x)
	}
	return list
}

// happensBefore adds the edges that the Go memory model speaks of
// (https://go.dev/ref/mem). It is the reference: it keeps everything and is slow.
func happensBefore(list []traced) {
	last := map[int]int{}       // of each goroutine, its last operation or the go statement
	latest := map[string]int{}  // of each kind of event on an object
	every := map[string][]int{} // likewise, all of them
	for i := range list {
		x := &list[i]
		edges := func(indices ...int) { x.after = append(x.after, indices...) }
		edge := func(event string) {
			if at, ok := latest[event]; ok {
				edges(at)
			}
		}
		note := func(event string) { latest[event], every[event] = i, append(every[event], i) }
		if at, ok := last[x.goroutine]; ok {
			edges(at)
		}
		last[x.goroutine] = i
		name := func(kind string) string { return fmt.Sprint(kind, x.object) }
		switch x.op {
		case 'g':
			last[x.object] = i
		case 'L':
			edge(name("unlock"))
		case 'U':
			note(name("unlock"))
		case 'l':
			edge("write unlock")
			edges(every["read unlock"]...)
		case 'u':
			note("write unlock")
		case 'R':
			edge("write unlock")
		case 'E':
			note("read unlock")
		case 'a', 'f':
			edge(name("store"))
		case 'b':
			note(name("store"))
		case 'd':
			edge(name("store"))
			note(name("store"))
		case 'o':
			if x.observed == 1 {
				note("once")
			}
			edge("once")
		case 'D':
			note("done")
		case 'W':
			edges(every["done"]...)
		case 's', 'c', 'k':
			communicate(x, every, edges, note)
		}
	}
}

// communicate adds the edges of a channel operation. Those that could not go
// ahead are no event.
func communicate(x *traced, every map[string][]int, edges func(...int), note func(string)) {
	sends, receives, closes := fmt.Sprint("send", x.object), fmt.Sprint("receive", x.object),
		fmt.Sprint("close", x.object)
	capacity := []int{1, 2, 0}[x.object]
	switch {
	case x.op == 'k':
		note(closes)
	case x.observed == 9999:
		edges(every[closes]...)
	case x.op == 's' && x.observed != 0:
		if n := len(every[sends]) - capacity; n >= 0 {
			edges(every[receives][n])
		}
		note(sends)
	case x.op == 'c' && x.observed != 0:
		edges(every[sends][len(every[receives])])
		note(receives)
	}
}

// bytesOf are the bytes of the memory that an access touches.
func bytesOf(part int) (from, to int) {
	ranges := [...][2]int{{0, 8}, {8, 12}, {12, 16}, {8, 16}, {20, 21}, {21, 22}, {16, 24}, {32, 40},
		{24, 40}, {0, 40}}
	return ranges[part][0], ranges[part][1]
}

// racesIn returns the pairs of operations that are data races.
func racesIn(list []traced) (pairs [][2]int) {
	happensBefore(list)
	for i := range list {
		before := make([]bool, i+1)
		mark(list, i, before)
		for j := range i {
			if !before[j] && conflict(list[i], list[j]) {
				pairs = append(pairs, [2]int{j, i})
			}
		}
	}
	return pairs
}

func mark(list []traced, i int, before []bool) {
	if before[i] {
		return
	}
	before[i] = true
	for _, j := range list[i].after {
		mark(list, j, before)
	}
}

func conflict(a, b traced) bool {
	if a.op != 'w' && b.op != 'w' || a.op != 'w' && a.op != 'r' || b.op != 'w' && b.op != 'r' {
		return false
	}
	from1, to1 := bytesOf(a.object)
	from2, to2 := bytesOf(b.object)
	return from1 < to2 && from2 < to1
}

// randomProgram makes a program for testdata/racy/interpret.go. Most accesses
// are to few places, so that races are neither rare nor certain.
func randomProgram(r *rand.Rand) string {
	goroutines := 2 + r.IntN(3)
	words := make([][]string, goroutines)
	for i := range words {
		for range 1 + r.IntN(6) {
			words[i] = append(words[i], randomBlock(r)...)
		}
	}
	for i := 1; i < goroutines; i++ { // each is started by one that comes before it
		parent := r.IntN(i)
		at := r.IntN(len(words[parent]) + 1)
		words[parent] = append(words[parent][:at:at],
			append([]string{fmt.Sprint("g", i)}, words[parent][at:]...)...)
	}
	if r.IntN(2) == 0 {
		by := r.IntN(goroutines)
		words[by] = append(words[by], "k2")
	}
	var text []string
	for _, w := range words {
		text = append(text, strings.Join(w, ""))
	}
	return strings.Join(text, " ")
}

// randomBlock is an access or two, mostly inside of something that synchronises.
func randomBlock(r *rand.Rand) []string {
	access := func() string { return string("rw"[r.IntN(2)]) + string("0012345678899"[r.IntN(13)]) }
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	switch r.IntN(9) {
	case 0, 1:
		n := pick("0", "1")
		return []string{"L" + n, access(), access(), "U" + n}
	case 2:
		return []string{"R0", access(), "E0"}
	case 3:
		return []string{"l0", access(), "u0"}
	case 4, 5:
		return []string{access(), pick("b0", "d0", "d1", "s0", "s1", "D0")}
	case 6, 7:
		return []string{pick("a0", "f0", "d0", "a1", "c0", "c1", "c2", "o0", "W0"), access()}
	}
	return []string{access()}
}

// TestDetectorAgainstReference compares the verdict of the detector with that of
// the memory model, on random schedules of random programs: it must stop at the
// first operation that is in a race, and only there.
func TestDetectorAgainstReference(t *testing.T) {
	const schedules = 8
	p := buildRacy(t, sut.RacesMain)
	r := rand.New(rand.NewPCG(7, 11))
	racy, free, operations := 0, 0, 0
	for range *referencePrograms {
		text := randomProgram(r)
		w := startRacy(t, p, sut.Snapshot, "interpret", text)
		for seed := range uint64(schedules) {
			log := run(t, w, sut.Schedule{Seed: seed + 1}, nil)
			list := parseTrace(t, string(log.Stdout))
			operations += len(list)
			pairs := racesIn(list)
			switch log.Outcome {
			case sut.DataRace:
				racy++
				if len(pairs) == 0 || pairs[0][1] != len(list)-1 {
					t.Fatalf("%s, seed %d: the detector stops at operation %d, races are %v:\n%s%s", text,
						seed+1, len(list)-1, pairs, log.Stdout, describe(p, log.Race))
				}
			case sut.Completed, sut.Deadlock:
				free++
				if len(pairs) > 0 {
					t.Fatalf("%s, seed %d: the detector overlooks %v:\n%s", text, seed+1, pairs, log.Stdout)
				}
			default:
				t.Fatalf("%s, seed %d: %v: %s %s", text, seed+1, log.Outcome, log.Message, log.Stderr)
			}
		}
		w.Close()
	}
	t.Logf("%d executions with a data race, %d without, %d operations", racy, free, operations)
	if racy < *referencePrograms || free < *referencePrograms {
		t.Errorf("%d executions with a data race and %d without: too few of one kind to compare", racy, free)
	}
}
