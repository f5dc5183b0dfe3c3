package check

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// datagramEcho sends each datagram back, and notes which it has seen.
type datagramEcho struct{ echo }

func (e *datagramEcho) Exchange(in model.Input) (model.Answer, error) {
	if m, _, ok := sut.ReadMessage(in.Data, proxy.UDP); in.Kind == model.Send && ok {
		e.seen = append(e.seen, string(m.Data))
		return model.Answer{
			Reaction: model.Reaction{
				Deliveries: []model.Delivery{{Conn: in.Conn, Data: []byte(string(in.Data))}}}}, nil
	}
	return e.echo.Exchange(in)
}

// datagramOutcomes is what a scenario prints and what its peer has seen, in all executions.
func datagramOutcomes(t *testing.T, p *sut.Program, args []string, w env, s *explore.Search) map[string]bool {
	t.Helper()
	seen, peer := map[string]bool{}, (*datagramEcho)(nil)
	newPeers := func() sut.Peers { peer = &datagramEcho{}; return peer }
	if _, err := eachExecutionWith(newPeers, p, sut.Options{Args: args, Environment: w}, s,
		func(log *sut.Log, x explore.Execution) bool {
			if x.Outcome != explore.Redundant {
				seen[fmt.Sprintf("%s %v: %s", log.Stdout, x.Outcome,
					strings.TrimSuffix(strings.Join(peer.seen, ","), ",close"))] = true
			}
			return true
		}); err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestDatagramFaults: a datagram is lost, comes twice, or late, on either way. A late one comes
// after the next one, and if there is none, when nothing else can happen: so it keeps nobody
// waiting for ever who has no deadline.
func TestDatagramFaults(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		scenario string
		kind, on string
		faults   int
		want     []string
	}{
		{"datagrams a b", "", "", 0, nil},
		{"datagrams a b", "refused", "", 1, nil},
		{"datagrams a b", "reset", "", 1, nil},
		{"datagrams a b", "end", "", 1, nil},
		{"datagrams a b", "silent", "", 1, nil},
		{"datagrams a b", "lost", "write", 1, []string{"b completed: b", "a completed: a"}},
		{"datagrams a b", "lost", "read", 1, []string{"b completed: a,b", "a completed: a,b"}},
		{"datagrams a b", "duplicated", "write", 1, []string{"aab completed: a,a,b", "abb completed: a,b,b"}},
		{"datagrams a b", "duplicated", "read", 1, []string{"aba completed: a,b", "abb completed: a,b"}},
		{"datagrams a b", "reordered", "write", 1, []string{"ba completed: b,a", "a completed: a,b"}},
		{"datagrams a b", "reordered", "read", 1, []string{"ba completed: a,b", "a completed: a,b"}},
		{"datagrams a b", "lost", "write", 2,
			[]string{"b completed: b", "a completed: a", " completed: close"}},
		{"datagrams a b c", "reordered", "write", 2, []string{
			"bac completed: b,a,c", "acb completed: a,c,b", "ab completed: a,b,c", "cab completed: c,a,b",
			"ba completed: b,a,c", "a completed: a,b,c",
		}},
		{"patient a b", "lost", "", 1, []string{" deadlock: b", " deadlock: a", " deadlock: a,b"}},
		{"patient a b", "duplicated", "", 1, []string{"aa completed: a,a,b", "ab completed: a,b,b"}},
		{"patient a b", "reordered", "", 2,
			[]string{"ba completed: b,a", "ba completed: a,b", "ab completed: b,a"}},
	} {
		args := strings.Fields(test.scenario)
		texts := args[1:]
		want := map[string]bool{strings.Join(texts, "") + " completed: " + strings.Join(texts, ","): true}
		for _, text := range test.want {
			want[text] = true
		}
		w := env{Faults: test.faults}
		if test.kind != "" {
			w.FaultKinds = []string{test.kind}
		}
		if test.on != "" {
			w.FaultOperations = []string{test.on}
		}
		for name, s := range map[string]*explore.Search{"dpor": dporSearch(), "dfs": dfsSearch()} {
			if diff := cmp.Diff(want, datagramOutcomes(t, p, args, w, s)); diff != "" {
				t.Errorf("%s, %d faults %s %s, %s (-want +got):\n%s", test.scenario, test.faults, test.kind,
					test.on, name, diff)
			}
		}
	}
}

// TestDatagramsOfSeveralSockets: what is late at several sockets arrives at all of them, and the
// reduction finds what the enumeration does, and goes on without a contradiction.
func TestDatagramsOfSeveralSockets(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	printed := func(kind, on string, s *explore.Search) map[string]bool {
		w := env{Faults: 2, FaultKinds: []string{kind}, FaultOperations: []string{on}}
		texts := map[string]bool{}
		for text := range datagramOutcomes(t, p, []string{"crowd", "a", "b"}, w, s) {
			texts[text[:strings.Index(text, ":")]] = true
		}
		return texts
	}
	well := map[string]bool{"[a b] completed": true}
	for kind, want := range map[string]map[string]bool{"reordered": well, "duplicated": well,
		"lost": {"[a b] completed": true, " deadlock": true}} {
		for _, on := range []string{"read", "write"} {
			if diff := cmp.Diff(want, printed(kind, on, dporSearch())); diff != "" {
				t.Errorf("%s at a %s (-want +got):\n%s", kind, on, diff)
			}
			for name, s := range map[string]*explore.Search{"dfs": maxExecutions(dfsSearch(), 1000),
				"random": randomSearch(500, 1)} {
				for text := range printed(kind, on, s) {
					if !want[text] {
						t.Errorf("%s at a %s: %s prints %s", kind, on, name, text)
					}
				}
			}
		}
	}
}

// TestDatagramFaultsAreSelected: datagrams to one peer suffer, and those to another do not, nor do
// those of TCP at the same port.
func TestDatagramFaultsAreSelected(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	here := sut.FaultPlace{IP: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}, Port: 7777, Datagrams: true}
	tcp, elsewhere := here, here
	tcp.Datagrams, elsewhere.Port = false, 7778
	for name, test := range map[string]struct {
		world env
		want  bool
	}{
		"all":       {env{}, true},
		"this one":  {env{FaultPeers: []string{"a"}, FaultPlaces: []sut.FaultPlace{elsewhere, here}}, true},
		"that one":  {env{FaultPeers: []string{"a"}, FaultPlaces: []sut.FaultPlace{elsewhere}}, false},
		"TCP":       {env{FaultPeers: []string{"a"}, FaultPlaces: []sut.FaultPlace{tcp}}, false},
		"a client":  {env{FaultPeers: []string{"a"}, FaultsOpened: true}, false},
		"connects":  {env{FaultKinds: sut.FaultKinds, FaultOperations: []string{"connect"}}, false},
		"of stream": {env{FaultKinds: []string{"refused", "reset", "end", "silent"}}, false},
	} {
		test.world.Faults = 1
		if got := len(datagramOutcomes(t, p, []string{"datagrams", "a", "b"}, test.world,
			dporSearch())) > 1; got != test.want {
			t.Errorf("%s: datagrams suffer: %v, want %v", name, got, test.want)
		}
	}
}
