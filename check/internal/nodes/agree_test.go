package nodes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// election are the nodes of that example.
func election(t *testing.T, voter ...string) []Node {
	list := exampleNodes(t, "election", "voter 127.0.0.1:7900", "candidate", "candidate")
	list[0].Args, list[1].Args, list[2].Args = voter, []string{"one"}, []string{"two"}
	return list
}

// agreeing is that nodes agree on some names.
func agreeing(names ...string) properties.Wanted { return properties.Wanted{Agree: names} }

// TestAgree: two candidates get one vote, which is a violation, and is replayed. The search and
// walks find it, and neither finds it where there is none, or where nodes need not agree.
func TestAgree(t *testing.T) {
	walks := &pick.Walks{Seed: 1, Picks: allPicks}
	for _, c := range []struct {
		name    string
		voter   []string
		agree   []string
		walks   *pick.Walks
		verdict model.Verdict
		reason  string
	}{
		{"explored", nil, []string{"leader of *"}, nil, model.Violated, ""},
		{"at random", nil, []string{"leader of term 1"}, walks, model.Violated, ""},
		{"fixed", []string{"-atomic"}, []string{"leader of *"}, nil, model.Holds, ""},
		{"fixed, at random", []string{"-atomic"}, []string{"leader of *"}, walks, model.Unknown,
			"the limit of 300 executions of nodes was reached"},
		{"not asked for", nil, nil, nil, model.Holds, ""},
		{"something else", nil, []string{"leader of *", "term", "log/*"}, nil, model.Violated, ""},
		{"nobody says so", []string{"-atomic"}, []string{"leader", "leader of *", "log/*"}, nil,
			model.Unknown, "no node has published leader or log/*, on which all are to agree; " +
				"published was: leader of term 1"},
		{"nobody says so at random", nil, []string{"leader"}, walks, model.Unknown,
			"the limit of 300 executions of nodes was reached; no node has published leader, on which all " +
				"are to agree; published was: leader of term 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := election(t, c.voter...)
			r, err := Run(t.Context(), Config{Nodes: list, Properties: agreeing(c.agree...), Walks: c.walks,
				Executions: 300, Violations: 5})
			if err != nil || r.Verdict != c.verdict || c.verdict != model.Violated && r.Reason != c.reason {
				t.Fatalf("%+v, error %v; want %v: %s", r, err, c.verdict, c.reason)
			}
			messages := map[string]bool{}
			for _, v := range r.Violations {
				message := v.Counterexample.Failure.Message
				const want = "assertion failed: nodes disagree on leader of term 1: "
				if messages[message] || !strings.HasPrefix(message, want) {
					t.Errorf("%s: %q", v.Node, message)
				}
				messages[message] = true
				if v.Recording == nil {
					t.Fatalf("%s is not recorded: %s", v.Node, v.Unrecorded)
				}
				again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), *replays)
				if err != nil || again.Violation == nil ||
					again.Violation.Counterexample.Failure.Message != message {
					t.Errorf("%+v, %v; want %q", again, err, message)
				}
			}
		})
	}
}

// TestAgreeAgainstTwin: random nodes whose network is parted publish what they have come to. They
// disagree if they do so in a system whose states are all gone through, and only then.
func TestAgreeAgainstTwin(t *testing.T) {
	program := build(t, "./testdata/parted")
	disagree, all, found := 0, 0, 0
	for seed := range uint64(*systems) {
		r := rand.New(rand.NewPCG(seed, 9))
		scripts := randomParted(r)
		letter := string("abtex"[r.IntN(5)])
		list := partedNodes(program, scripts, 0, "has:"+letter)
		list[1].Args[0] = "has:" + letter
		can := func(from partedState) (disagree bool) {
			for pair := range exploreParted(scripts, from).pairs {
				disagree = disagree || strings.Contains(pair[0], letter) != strings.Contains(pair[1], letter)
			}
			return disagree
		}
		run := func(walks *pick.Walks) *Violation {
			r, err := Run(t.Context(), Config{Nodes: list, Partitions: both(), Walks: walks,
				Executions: map[bool]int{true: 400}[walks != nil], Properties: agreeing("has ?")})
			if err != nil {
				t.Fatalf("seed %d: %v\n%q", seed, err, scripts)
			}
			return r.Violation()
		}
		// That a connect is made and given up at the same time is explored where others notice it.
		must, may := can(partedState{}), can(partedState{givesUp: true})
		explored, random := run(nil), run(&pick.Walks{Seed: seed, Picks: allPicks})
		name := fmt.Sprintf("seed %d: %q\nletter %s: must %t, may %t", seed, scripts, letter, must, may)
		if must && explored == nil || !may && (explored != nil || random != nil) {
			t.Errorf("%s; explored %+v, at random %+v", name, explored, random)
		}
		for _, v := range []*Violation{explored, random} {
			if v == nil {
				continue
			}
			if v.Recording == nil {
				t.Errorf("%s\nnot recorded: %s\n%s", name, v.Unrecorded, strings.Join(whats(v.Events), "\n"))
				continue
			}
			programs := []*sut.Program{program, program}
			again, err := Replay(t.Context(), programs, throughFile(t, v.Recording), 2)
			if err != nil || again.Violation == nil {
				t.Errorf("%s\nreplay: %+v, %v\n%s", name, again, err, strings.Join(whats(v.Events), "\n"))
			}
		}
		if must {
			disagree++
		}
		if may {
			all++
		}
		if random != nil {
			found++
		}
	}
	t.Logf("%d of %d systems disagree; walks find %d of %d", disagree, *systems, found, all)
	if disagree == 0 || disagree == *systems || found < all/2 {
		t.Errorf("%d of %d systems disagree; walks find %d of %d", disagree, *systems, found, all)
	}
}
