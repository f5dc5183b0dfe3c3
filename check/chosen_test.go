package check

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
)

// dialogues checks a program with a strategy, and returns all that was said in the executions, by
// the behaviour of the peers.
func dialogues(t *testing.T, o Options) (explore.Verdict, Counts, []map[string]bool) {
	t.Helper()
	said := make([]map[string]bool, o.Group.Behaviours())
	for i := range said {
		said[i] = map[string]bool{}
	}
	var r *run
	o.Search, o.observe = dporSearch(), seeing(func(explore.Execution) {
		p := r.executor.Session()
		var b strings.Builder
		at, behaviour := p.At()
		steps, err := r.peers.Cache().Missing(iocache.Position{iocache.Root}, at)
		if err != nil {
			t.Error(err)
		}
		for _, step := range steps {
			fmt.Fprintf(&b, "%v %q", step.Input, step.Input.Data)
			for _, d := range step.Reaction.Deliveries {
				fmt.Fprintf(&b, " => %d %q %v", d.Conn, d.Data, d.End)
			}
			b.WriteByte('\n')
		}
		said[behaviour][b.String()] = true
	})
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	return result.Verdict, result.Counts, said
}

// TestChosenBehaviours: several behaviours of Dropbear are explored, each with a key exchange of
// its own, and it is the same, byte for byte, when Dropbear is started anew each time it has to go
// back and when it goes back to checkpoints.
func TestChosenBehaviours(t *testing.T) {
	behaviours := cases(8, 3)
	var want []map[string]bool
	for _, name := range []string{"always", "never"} {
		o := scpToFixed.options(t)
		o.Group.Peers[0].Choices = behaviours
		o.Strategy, _ = strategy.ByName(name)
		verdict, counts, said := dialogues(t, o)
		t.Logf("%s: %d executions, %d misses, %d checkpoints, %d restores, %d restarts, %d replayed, %v",
			name, verdict.Executions,
			counts.Misses, counts.Checkpoints, counts.Restores, counts.Restarts, counts.Replayed,
			counts.Elapsed)
		if verdict.Kind != explore.Holds || verdict.Executions != 288*behaviours {
			t.Errorf("%s: %v after %d executions, want 288 for each of %d behaviours", name, verdict.Kind,
				verdict.Executions, behaviours)
		}
		if name == "never" && counts.Restarts == 0 || name != "never" && counts.Checkpoints < behaviours {
			t.Errorf("%s: %+v", name, counts)
		}
		if want == nil {
			want = said
		}
		seen := map[string]int{}
		for b := range said {
			if fmt.Sprint(said[b]) != fmt.Sprint(want[b]) {
				t.Errorf("%s: behaviour %d is another than with always", name, b)
			}
			for dialogue := range said[b] {
				if other, ok := seen[dialogue]; ok && other != b {
					t.Errorf("%s: behaviours %d and %d say the same:\n%s", name, b, other, dialogue)
				}
				seen[dialogue] = b
			}
		}
	}
}

// TestChoiceOfTheFirstConnect: whichever goroutine connects first makes the choice, in the reduced
// search as in the enumeration of all schedules.
func TestChoiceOfTheFirstConnect(t *testing.T) {
	options := func() Options {
		o := randomAlphabet.options(t)
		o.Group.Peers[0].Choices = 2
		o.Args = []string{"-connections", "2", "-requests", "1"}
		return o
	}
	reduced, complete := fingerprints(t, options(), dporSearch())
	all, executions := fingerprints(t, options(), dfsSearch())
	t.Logf("%d executions reduced, %d in all, %d partial orders", complete, executions, len(all))
	if complete != len(all) || len(reduced) != len(all) || complete != 2*20 {
		t.Errorf("%d executions with %d partial orders, the dumb twin has %d; want 20 for each of 2 "+
			"behaviours", complete, len(reduced), len(all))
	}
}

// TestChoiceIsShownAndReplayed: it is a part of the schedule and of the recorded dialogue.
func TestChoiceIsShownAndReplayed(t *testing.T) {
	o := scpTo.options(t)
	o.Group.Peers[0].Choices = 3
	result := check(t, o)
	if result.Counterexample == nil {
		t.Fatalf("%+v: no counterexample", result.Verdict)
	}
	if text := fmt.Sprint(result.Counterexample); !strings.Contains(text, "the peers behave in way 1 of 3") ||
		!strings.Contains(text, "dropbear behaves in 3 ways") {
		t.Errorf("the counterexample does not say how the peers behave:\n%s", text)
	}
	if _, err := Replay(o.Program, result.Recording, 10); err != nil {
		t.Error(err)
	}
	other := cloneRecording(result.Recording)
	other.Exchanges[0].Input.Behaviour = 1
	if _, err := Replay(o.Program, other, 1); err == nil ||
		!strings.Contains(err.Error(), "input 1 to the peers differs") {
		t.Errorf("the answers of another behaviour are taken for its: %v", err)
	}
}

// TestChoiceOfAStaticPeer: a server that does not use the C library can be started anew, too.
func TestChoiceOfAStaticPeer(t *testing.T) {
	o := randomAlphabet.options(t)
	o.Group.Peers[0].Choices = 2
	o.Args = []string{"-connections", "2", "-requests", "1"}
	o.Strategy = strategy.Never{}
	verdict, counts, said := dialogues(t, o)
	if verdict.Kind != explore.Holds || counts.Restarts == 0 || fmt.Sprint(said[0]) == fmt.Sprint(said[1]) {
		t.Errorf("%+v, %+v; one behaviour says %v, the other %v", verdict, counts, said[0], said[1])
	}
}

// TestChoiceOfAnUninstrumentedPeer: what nobody controls cannot be chosen, and that is said.
func TestChoiceOfAnUninstrumentedPeer(t *testing.T) {
	o := alphabet.options(t)
	p := &o.Group.Peers[0]
	p.Choices = 2
	p.Command = []string{"sh", "-c", "exec " + strings.Join(p.Command, " ")}
	if _, err := Run(context.Background(), o); err == nil ||
		!strings.Contains(err.Error(), "alphabet-server") ||
		!strings.Contains(err.Error(), "cannot be chosen") {
		t.Errorf("error %v, want one that names the server", err)
	}
}
