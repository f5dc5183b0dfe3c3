package nodes

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestClosedListener: what a connect comes to whose node has closed its listener, and the
// connection if it was made before that. The client does not expect one of these.
func TestClosedListener(t *testing.T) { testClosedListener(t, Config{}) }

// TestClosedListenerInOrder: the same where the events of each node are in one order, as with
// faults of the network. These ones never happen.
func TestClosedListenerInOrder(t *testing.T) {
	config := Config{}
	config.Worker.Environment = sut.Environment{Faults: 1, FaultKinds: []string{"lost"}}
	testClosedListener(t, config)
}

func testClosedListener(t *testing.T, config Config) {
	t.Helper()
	program := build(t, "./testdata/script")
	for _, c := range []struct {
		name           string
		client, server []string
		can            []string // of those that the client does not expect
	}{
		{"before or after", []string{"dial-not :7301"}, []string{"unlisten"}, []string{"made", "refused"}},
		{"it knows by a message", []string{"read 1", "dial-not :7301"}, []string{"unlisten", "write x"},
			[]string{"refused"}},
		{"a message from before", []string{"read 1", "dial-not :7301"}, []string{"write x", "unlisten"},
			[]string{"made", "refused"}},
		{"it knows by the clock", []string{"sleep 1", "dial-not :7301"}, []string{"unlisten"},
			[]string{"refused"}},
		{"the end of the node", []string{"expect end", "dial-not :7301"}, nil, []string{"refused"}},
		{"it listens again", []string{"dial-not :7301"}, []string{"unlisten", "listen :7301", "accept"},
			[]string{"made", "refused"}},
		{"it listens again, and accepts", []string{"redial :7301", "read-not"},
			[]string{"unlisten", "listen :7301", "accept", "write x"}, []string{"data", "reset"}},
		{"it is known to listen again", []string{"read 1", "dial-not :7301"},
			[]string{"unlisten", "listen :7301", "write x", "accept"}, []string{"made"}},
		{"not accepted", []string{"redial :7301", "read-not"}, []string{"unlisten", "sleep 1"},
			[]string{"reset"}},
		{"it listens elsewhere", []string{"dial-not :7301"}, []string{"unlisten", "listen :7302"},
			[]string{"made", "refused"}},
		{"it listens everywhere", []string{"dial-not :7301"}, []string{"unlisten", "everywhere :7301"},
			[]string{"made", "refused"}},
		// The events of a server to which a reset may come are in one order.
		{"a reset may come to the server", []string{"read 1", "dial-not :7301"},
			[]string{"write x", "unlisten", "write y"}, []string{"made", "refused"}},
		{"it then does more", []string{"read 1", "dial-not :7301"},
			[]string{"write x", "unlisten", "sleep 1", "write y"}, []string{"made", "refused"}},
		{"such a server listens again", []string{"read 1", "dial-not :7301"},
			[]string{"write x", "unlisten", "listen :7301", "write y", "accept"},
			[]string{"made", "refused"}},
		{"accepted", []string{"redial :7301", "read-not"}, []string{"accept", "unlisten", "write x"},
			[]string{"data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := c.client, append([]string{"listen :7301"}, c.server...)
			if client[0] != "redial :7301" {
				client, server = append([]string{"dial :7301"}, client...), slices.Insert(server, 1, "accept")
			}
			if can := unexpectedOf(t, config, program, client, server); !slices.Equal(can, c.can) {
				t.Errorf("the client finds %q, want %q", can, c.can)
			}
		})
	}
}

// TestUnsaidListener: what a connect comes to where nobody said that the node listens. It is
// refused until the node does.
func TestUnsaidListener(t *testing.T) {
	program := build(t, "./testdata/script")
	at := "10.0.0.2:9000"
	for _, c := range []struct {
		name           string
		client, server []string
		can            []string // of those that the client does not expect
	}{
		{"before or after", []string{"dial-not " + at}, []string{"listen " + at, "accept"},
			[]string{"made", "refused"}},
		{"nobody listens", []string{"dial-not " + at}, nil, []string{"refused"}},
		{"at another port", []string{"dial-not " + at}, []string{"listen 10.0.0.2:9001"},
			[]string{"refused"}},
		{"on loopback", []string{"dial-not " + at}, []string{"listen :9000"}, []string{"refused"}},
		{"everywhere", []string{"dial-not " + at}, []string{"everywhere :9000"},
			[]string{"made", "refused"}},
		{"it knows by a message", []string{"read 1", "dial-not " + at}, []string{"listen " + at, "write x",
			"sleep 1"}, []string{"made"}},
		{"a message from before", []string{"read 1", "dial-not " + at}, []string{"write x", "listen " + at},
			[]string{"made", "refused"}},
		{"it knows by the clock", []string{"sleep 1", "dial-not " + at}, []string{"listen " + at, "sleep 2"},
			[]string{"made"}},
		{"it is closed", []string{"read 1", "dial-not " + at},
			[]string{"listen " + at, "write x", "unlisten"}, []string{"made", "refused"}},
		{"it is known to be closed", []string{"read 1", "dial-not " + at},
			[]string{"listen " + at, "unlisten", "write x"}, []string{"refused"}},
		{"and again", []string{"read 1", "dial-not " + at}, []string{"listen " + at, "unlisten", "write x",
			"everywhere :9000", "sleep 1"}, []string{"made", "refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := append([]string{"dial :7301"}, c.client...)
			server := append([]string{"listen :7301", "accept"}, c.server...)
			if can := unexpectedOf(t, Config{}, program, client, server); !slices.Equal(can, c.can) {
				t.Errorf("the client finds %q, want %q", can, c.can)
			}
		})
	}
}

// TestClosedListenersTogether: what random nodes with a listener that is closed come to in one
// program over its loopback network, they come to as nodes, too.
func TestClosedListenersTogether(t *testing.T) {
	allAsNodes(t, func(seed uint64) []string { return closingScripts(rand.New(rand.NewPCG(seed, 5))) })
}

// closingScripts are random ones of a server that closes its listener, and of a client that
// connects again.
func closingScripts(r *rand.Rand) (scripts []string) {
	for _, role := range []string{"serve c", "dial"} {
		steps := map[string][]string{"serve c": {"v", "W", "r1"}, "dial": {"n", "R", "W"}}[role]
		list := []string{role, steps[0]}
		for range r.IntN(3) {
			list = slices.Insert(list, 1+r.IntN(len(list)), steps[r.IntN(3)])
		}
		var not strings.Builder
		for range 1 + r.IntN(2) {
			not.WriteByte("frwe"[r.IntN(4)])
		}
		scripts = append(scripts, strings.Join(append(list, not.String()), " "))
	}
	return scripts
}
