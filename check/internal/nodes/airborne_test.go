package nodes

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
)

// airKind is a way in which random nodes that send datagrams are compared: from a state on, one of
// so many systems without a crash, and with one so many of 100, of at most so many states.
type airKind struct {
	name string
	from airState
	Config
	every, crashing, most int
}

func airKinds() []airKind {
	all := []string{"lost", "duplicated", "reordered"}
	return []airKind{
		{"reliable", airState{parted: 2}, Config{}, 2, 24, 3000},
		{"faults", airState{parted: 2, faults: 1, kinds: fmt.Sprint(all)},
			Config{Datagrams: all, Often: given.Often{DatagramLimit: 1}}, 6, 12, 1500},
		{"parted", airState{}, Config{Partitions: [][][2]int{{{0, 1}}}}, 4, 8, 1000},
	}
}

// TestDatagramsExploredAgainstTwin: random nodes that send datagrams, and are explored, come to the
// same as a system whose states are all gone through, and to nothing else. What they come to is
// replayed.
func TestDatagramsExploredAgainstTwin(t *testing.T) {
	for _, c := range airKinds() {
		t.Run(c.name, func(t *testing.T) {
			kinds, runs := map[rune]int{}, 0
			for w := range airTwins(t, c.every, c.from, c.Config) {
				w.count(kinds)
				runs += w.explored(t, 2)
			}
			t.Logf("%d executions; %v", runs, kinds)
			if *systems >= enough && (kinds['f'] == 0 || kinds['t'] == 0 ||
				kinds['x']+kinds['y']+kinds['z'] == 0) {
				t.Errorf("nodes come to no more than %v", kinds)
			}
		})
	}
}

// randomCrashingAir are scripts of three nodes, of which two do something. Most often they have a
// socket before any time has passed, so that it gets what was on its way when they crashed.
func randomCrashingAir(r *rand.Rand) []string {
	long := r.Perm(9)
	next := func(what string) string {
		n := 1
		for range long[0] {
			n *= 3
		}
		long = long[1:]
		return what + strconv.Itoa(n)
	}
	script := func(other string, connects bool) string {
		letter := func() string { return string(rune('x' + r.IntN(3))) }
		list, send, reply := []string{"b"}, "w"+other, "p"
		if connects {
			list[0], send, reply = "o"+other, "W", "W"
		}
		if r.IntN(4) == 0 {
			list = slices.Insert(list, r.IntN(2), next("s"))
		}
		for range 1 + r.IntN(2) {
			list = append(list, send+letter())
		}
		list = append(list, next("r"))
		if r.IntN(2) == 0 {
			list = append(list, []string{reply + letter(), send + letter(), next("s")}[r.IntN(3)])
		}
		if r.IntN(2) == 0 {
			list = append(list, next("r"))
		}
		return strings.Join(append(list, "z"), " ") // it has an input to come until its end
	}
	return []string{script("b", false), script("a", r.IntN(4) == 0), "s1"}
}

// crashingAirTwins are random nodes that send datagrams, of which one crashes, and what they come
// to from a state on. They are down for as long as they like if forever says so. Those that have
// too many states are left out.
func crashingAirTwins(t *testing.T, k airKind, forever bool) iter.Seq[twin] {
	program := build(t, "./testdata/air")
	return func(yield func(twin) bool) {
		for seed, tested := uint64(1), 0; tested < 1+*systems*k.crashing/100; seed++ {
			r := rand.New(rand.NewPCG(seed, 23))
			scripts := randomCrashingAir(r)
			who := r.IntN(2)
			c := k.Config
			c.Crash = given.Crash{Crashes: []int{r.IntN(2)}, CrashLimit: 1, Down: 1 + r.IntN(2)}
			if forever {
				c.Down = 100
			}
			want := airOutcomes(scripts, who, k.from, k.most, c)
			if want == nil {
				continue
			}
			tested++
			if !yield(twin{seed, scripts, who, want, func(check string) Config {
				c.Nodes = airNodes(program, scripts, who, check)
				return c
			}}) {
				return
			}
		}
	}
}

// TestDatagramsOfCrashesAgainstTwin: in walks, random nodes that send datagrams and crash come only
// to what they come to in a system whose states are all gone through.
func TestDatagramsOfCrashesAgainstTwin(t *testing.T) {
	for _, c := range airKinds() {
		t.Run(c.name, func(t *testing.T) {
			c.Executions = 400
			walkTwins(t, crashingAirTwins(t, c, true))
		})
	}
}

// TestDatagramsOfCrashesExplored: random nodes that send datagrams and crash, and are explored,
// come to the same as such a system, and to nothing else. What they come to is replayed.
func TestDatagramsOfCrashesExplored(t *testing.T) {
	for _, c := range airKinds() {
		t.Run(c.name, func(t *testing.T) {
			kinds, runs := map[rune]int{}, 0
			for w := range crashingAirTwins(t, c, false) {
				w.count(kinds)
				if runs += w.explored(t, 2); t.Failed() {
					return
				}
			}
			t.Logf("%d executions; %v", runs, kinds)
		})
	}
}

// TestMissedWhileDown: what was on its way to a node that has crashed comes to its next life, or is
// lost: in any case when the clock advances before the node runs again. What one socket sends
// arrives in its order, or not at all.
func TestMissedWhileDown(t *testing.T) {
	program := build(t, "./testdata/air")
	late := airState{parted: 2, faults: 1, kinds: "reordered"}
	for _, c := range []struct {
		sender string
		from   airState
		Config
		comes bool // to something that it would not come to if all were lost
	}{
		{"b wax way s10 waz", airState{parted: 2}, Config{}, true},
		{"b wax s10 way s11", late,
			Config{Datagrams: []string{"reordered"}, Often: given.Often{DatagramLimit: 1}}, false},
	} {
		if c.DatagramLimit > 0 && *systems < enough {
			continue // it takes a quarter of a minute
		}
		scripts := []string{"b r5 r7 z", c.sender, "s1"}
		c.Crash = given.Crash{Crashes: []int{0}, CrashLimit: 1, Down: 2}
		of := func(check string) Config {
			c := c.Config
			c.Nodes = airNodes(program, scripts, 0, check)
			return c
		}
		want := airOutcomes(scripts, 0, c.from, 100_000, c.Config)
		twin{1, scripts, 0, want, of}.explored(t, 2)
		c.from.loses = true
		lost := airOutcomes(scripts, 0, c.from, 100_000, c.Config)
		if c.from.loses = false; slices.Equal(want, lost) == c.comes {
			t.Errorf("%q: it comes to %q, and to %q if all is lost", scripts, want, lost)
		}
		c.Down, c.Executions = 100, 1000
		want = airOutcomes(scripts, 0, c.from, 100_000, c.Config)
		t.Logf("%s: %d of %q", c.sender, comeTo(t, 1, want, of), want)
	}
}
