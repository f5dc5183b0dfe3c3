package nodes

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestResets: what a node finds whose connection the other one closes, and what it never finds. The
// nodes do not expect one of the ends of a read, or of a write.
func TestResets(t *testing.T) {
	program := build(t, "./testdata/script")
	for _, c := range []struct {
		name           string
		client, server []string
		can            []string // of those that the client does not expect
	}{
		{"nothing is read", []string{"write x", "read-not"}, nil, []string{"end", "reset"}},
		{"all is read", []string{"write x", "read-not"}, []string{"read 1"}, []string{"end"}},
		// What was sent before the reset can be read.
		{"an answer to a part", []string{"write x", "write y", "read-not"},
			[]string{"read 1", "write z"}, []string{"data"}},
		{"after the answer", []string{"write x", "write y", "read 1", "read-not"},
			[]string{"read 1", "write z"}, []string{"end", "reset"}},
		// The first write after the close is sent, and answered by a reset.
		{"the first write", []string{"write-not"}, nil, []string{"done"}},
		{"the second write", []string{"write x", "write-not"}, nil, []string{"done", "failed"}},
		{"writes after the end", []string{"read-not data", "write x", "write-not"}, nil,
			[]string{"done", "failed"}},
		{"reads after a write after the end", []string{"read-not data", "write x", "read-not"}, nil,
			[]string{"end"}},
		// Before time passes, all arrives.
		{"it had arrived", []string{"write x", "read-not"}, []string{"sleep 1"}, []string{"reset"}},
		// What is sent after the other node has closed does not take the end of the stream away.
		{"it is sent too late", []string{"sleep 1", "write x", "read-not"}, nil, []string{"end"}},
		{"it has come back", []string{"sleep 1", "write x", "sleep 1", "write-not"}, nil,
			[]string{"failed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := append([]string{"listen :7301", "accept"}, c.server...)
			client := append([]string{"dial :7301"}, c.client...)
			can := unexpectedOf(t, Config{}, program, client, server)
			if !slices.Equal(can, c.can) {
				t.Errorf("the client finds %q, want %q", can, c.can)
			}
		})
	}
}

// TestNotAcceptedIsReset: a connection that nobody accepts has no end, when its server is gone.
// Who connects after that is refused.
func TestNotAcceptedIsReset(t *testing.T) {
	for unexpected, want := range map[string]model.Verdict{"end": model.Holds, "reset": model.Violated} {
		client := []string{"redial :7300", "read-not " + unexpected}
		r, err := scripted(t, []string{"listen :7300", "accept", "write x"}, client, client)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want {
			t.Errorf("nobody expects %s: %v, %s", unexpected, r.Verdict, r.Reason)
		}
	}
}

// TestResetsTogether: what random nodes come to in one program, they come to as nodes. In one
// program nothing is under way, so a reset is never late, and nodes find more.
func TestResetsTogether(t *testing.T) {
	allAsNodes(t, func(seed uint64) []string { return resettingScripts(rand.New(rand.NewPCG(seed, 4))) })
}

// resettingScripts are random ones of a server and a client who notice how connections end.
func resettingScripts(r *rand.Rand) (scripts []string) {
	for _, role := range []string{"serve c", "dial"} {
		list := []string{role}
		for range r.IntN(3) {
			list = append(list, []string{"W", "R", "r1", "W"}[r.IntN(4)])
		}
		var not strings.Builder
		for range 1 + r.IntN(2) {
			not.WriteByte("wepr"[r.IntN(4)])
		}
		scripts = append(scripts, strings.Join(append(list, not.String()), " "))
	}
	return scripts
}

// TestMainReturns: when main returns, the process is gone, though a goroutine waits for clients.
func TestMainReturns(t *testing.T) {
	program := build(t, "./testdata/returns")
	list := []Node{{Name: "server", Program: program, Listen: "127.0.0.1:7000"},
		{Name: "client", Program: program, Args: []string{"client"}}}
	r, err := Run(t.Context(), Config{Nodes: list})
	if err != nil || r.Verdict != model.Holds {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Run(t.Context(), Config{Nodes: list, Executions: 200,
		Walks: &pick.Walks{Seed: 1, Picks: allPicks}})
	if err != nil || r.Verdict != model.Unknown {
		t.Errorf("%+v, %v", r, err)
	}
}
