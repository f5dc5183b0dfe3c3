package ckptd

import (
	"math/rand/v2"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/peers"
)

// TestProcessesGoBack: a tree of processes with memory, signals, pipes and threads of their own.
func TestProcessesGoBack(t *testing.T) {
	for name, test := range map[string]struct {
		user        string
		environment []string
	}{
		"root":         {},
		"another user": {user: "nobody"},
		"other groups": {environment: []string{"GROUPS=1"}}, // in a child alone
	} {
		t.Run(name, func(t *testing.T) {
			group := ownProgram(t, "forks")
			group.Peers[0].User = test.user
			group.Peers[0].Env = append(group.Peers[0].Env, test.environment...)
			wander(t, start(t, spawn(t, Options{Backend: BackendMemory}), group), 80)
		})
	}
}

// TestLongLineOfTrees goes on from restored processes again and again, beyond where memory is
// mapped anew.
func TestLongLineOfTrees(t *testing.T) {
	g := start(t, spawn(t, Options{Backend: BackendMemory}), ownProgram(t, "forks"))
	talk := connectTo(t, g, ownAddress)
	talk.ask("change\n")
	for range process.MaxGeneration + 2 {
		if err := g.Restore(testContext(t), savedGroup(t, g)); err != nil {
			t.Fatal(err)
		}
	}
	talk.obtain()
	if got := talk.ask("change\n"); got == "" {
		t.Errorf("there is no answer any more; it wrote %q", g.Written())
	}
}

// TestBackendsAgreeOnProcesses: with CRIU a tree of processes answers as it does with images in
// memory.
func TestBackendsAgreeOnProcesses(t *testing.T) {
	answers := map[string]string{}
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, ownProgram(t, "forks"))
		talk := connectTo(t, g, ownAddress)
		all := talk.ask("change\n")
		image := savedGroup(t, g)
		for range 2 {
			for range 3 {
				all += talk.ask("change\n")
			}
			if err := g.Restore(testContext(t), image); err != nil {
				t.Fatal(err)
			}
			talk.obtain()
		}
		answers[t.Name()] = all
	})
	first := ""
	for name, all := range answers {
		if first != "" && all != first {
			t.Errorf("%s: %s\nthe other one: %s", name, all, first)
		}
		first = all
	}
}

// TestKillsOfProcesses kills what there is of a tree of processes at random moments, as
// TestKillsAtRandom does.
func TestKillsOfProcesses(t *testing.T) {
	tree := dialogue{"processes", func(t testing.TB) peers.Group { return ownProgram(t, "forks") },
		ownAddress, []string{"change\n", "change\n", "change\n"}, true}
	random := rand.New(rand.NewPCG(3, 4))
	for killed := map[string]int{}; len(killed) == 0 || killed["daemon"] == 0; {
		l := watchLeftovers(t)
		killAround(t, l, random, BackendMemory, tree, killed)
		if l.check(t); t.Failed() {
			t.Fatal(killed)
		}
	}
}
