package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// echo is a peer that sends back what it is sent, and notes what it has seen.
type echo struct {
	connections int
	seen        []string
}

func (e *echo) Exchange(in model.Input) (model.Answer, error) {
	switch in.Kind {
	case model.Connect:
		e.connections++
		return model.Answer{Conn: e.connections - 1}, nil
	case model.Send:
		e.seen = append(e.seen, string(in.Data))
		return model.Answer{
			Reaction: model.Reaction{
				Deliveries: []model.Delivery{{Conn: in.Conn, Data: []byte(string(in.Data))}}}}, nil
	case model.Close:
		e.seen = append(e.seen, "close")
	}
	return model.Answer{}, nil
}

// withFaults is what a scenario of testdata/faults prints, and what the peer has seen by then, in
// executions with at most so many faults.
func withFaults(t *testing.T, scenario string, faults int, s *explore.Search) map[string]bool {
	t.Helper()
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	return withWorld(t, p, sut.Options{Args: []string{scenario}, Environment: allFaults(faults)}, s)
}

// env is a short name for the tables of these tests.
type env = sut.Environment

func allFaults(n int) env { return env{Faults: n, FaultKinds: sut.FaultKinds} }

func withWorld(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search) map[string]bool {
	t.Helper()
	seen, peer := map[string]bool{}, (*echo)(nil)
	newPeers := func() sut.Peers { peer = &echo{}; return peer }
	if _, err := eachExecutionWith(newPeers, p, o, s, func(log *sut.Log, x explore.Execution) bool {
		if x.Outcome != explore.Redundant {
			seen[fmt.Sprintf("%s %v: %s", log.Stdout, x.Outcome, strings.Join(peer.seen, ","))] = true
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestFaults: a connection to a peer fails in every way, at every operation, before the peer has
// seen it or after, and is then closed unless it is silent: then the peer sees nothing more.
// Without faults it never does.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		scenario string
		faults   int
		want     []string
	}{
		{"ask", 0, []string{"ping completed: ping,close"}},
		{"ask", 1, []string{
			"end completed: close", "end completed: ping,close", "late completed: ", "late completed: ping",
			"ping completed: ping,close", "refused completed: ", "reset completed: close",
			"reset completed: ping,close",
			"unanswered completed: ",
		}},
		{"dial", 1, []string{
			"well well completed: close,close", "refused after 0s well completed: close",
			"well refused after 0s completed: close",
			"late after 1m0s well completed: close", "well unanswered after 2m7s completed: close",
		}},
		{"idle", 1, []string{ // nothing is under way when it fails
			"idle completed: ", "idle completed: close", "lost by end completed: close",
			"lost by reset completed: close", "refused completed: ", "unanswered completed: ",
		}},
		{"half", 1, []string{
			"end completed: close", "end completed: ping,close", "late completed: ", "late completed: ping",
			"piend completed: ping,close", "pilate completed: ping", "ping completed: ping,close",
			"pireset completed: ping,close",
			"refused completed: ", "reset completed: close", "reset completed: ping,close",
			"unanswered completed: ",
		}},
	} {
		want := map[string]bool{}
		for _, text := range test.want {
			want[text] = true
		}
		for name, s := range map[string]*explore.Search{"dpor": dporSearch(), "dfs": dfsSearch()} {
			if diff := cmp.Diff(want, withFaults(t, test.scenario, test.faults, s)); diff != "" {
				t.Errorf("%s, %d faults, %s (-want +got):\n%s", test.scenario, test.faults, name, diff)
			}
		}
	}
}

// TestFaultsOfSharedConnection: what has come by the time that a read goes well is read, be it from
// before it was chosen that it does or from after.
func TestFaultsOfSharedConnection(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []env{{}, {Faults: 1, FaultKinds: []string{"reset"}, FaultOperations: []string{"read"}},
		{ShortReads: 1}} {
		o := sut.Options{Args: []string{"share"}, Environment: w}
		want, got := withWorld(t, p, o, dfsSearch()), withWorld(t, p, o, dporSearch())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-dfs +dpor):\n%s", w, diff)
		}
	}
}

// TestFaultsAreSelected: a selection of faults leaves what the names say and nothing else.
func TestFaultsAreSelected(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := func(w env, to ...string) map[string]bool {
		return withWorld(t, p, sut.Options{Args: append([]string{"ask"}, to...), Environment: w},
			dporSearch())
	}
	const well = "ping completed: ping,close"
	resets := []string{"reset completed: close", "reset completed: ping,close"}
	ends := []string{"end completed: close", "end completed: ping,close"}
	silences := []string{"late completed: ", "late completed: ping"}
	here := sut.FaultPlace{IP: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}, Port: 7777}
	six := sut.FaultPlace{IP: [16]byte{15: 1}, Port: 7777}
	paths := []sut.FaultPlace{{Path: "/run/a"}, {Path: "\x00a"}}
	for name, test := range map[string]struct {
		world env
		want  []string
		to    []string
	}{
		"default": {env{}, slices.Concat(resets, ends, []string{"refused completed: "}), nil},
		"refused": {env{FaultKinds: []string{"refused"}}, []string{"refused completed: "}, nil},
		"reset":   {env{FaultKinds: []string{"reset"}}, resets, nil},
		"end":     {env{FaultKinds: []string{"end"}}, ends, nil},
		"silent":  {env{FaultKinds: []string{"silent"}}, append(silences, "unanswered completed: "), nil},
		"connect": {env{FaultKinds: sut.FaultKinds, FaultOperations: []string{"connect"}},
			[]string{"refused completed: ", "unanswered completed: "}, nil},
		"end reads": {env{FaultKinds: []string{"end"}, FaultOperations: []string{"read"}}, ends[1:], nil},
		"writes": {env{FaultKinds: []string{"end", "reset"}, FaultOperations: []string{"write"}},
			slices.Concat(ends, resets), nil},
		"this peer": {env{FaultKinds: []string{"end"}, FaultPeers: []string{"a"},
			FaultPlaces: []sut.FaultPlace{{Port: 1}, here}}, ends, nil},
		"any IP": {env{FaultKinds: []string{"end"}, FaultPeers: []string{"a"},
			FaultPlaces: []sut.FaultPlace{{Port: 7777}}}, ends, nil},
		"that peer": {env{FaultPeers: []string{"a"},
			FaultPlaces: []sut.FaultPlace{{Port: 7778}, {Path: "/7777"}}}, nil, nil},
		"a client": {env{FaultPeers: []string{"a"}, FaultsOpened: true}, nil, nil},
		"IPv6": {env{FaultKinds: []string{"end"}, FaultPeers: []string{"a"},
			FaultPlaces: []sut.FaultPlace{six}}, ends, []string{"tcp", "[::1]:7777"}},
		"not IPv6": {env{FaultPeers: []string{"a"}, FaultPlaces: []sut.FaultPlace{six}}, nil, nil},
		"a path": {env{FaultKinds: []string{"end"}, FaultPeers: []string{"a"}, FaultPlaces: paths}, ends,
			[]string{"unix", "/run/a"}},
		"no path": {env{FaultPeers: []string{"a"}, FaultPlaces: paths}, nil, []string{"unix", "/run/b"}},
		"abstract": {env{FaultKinds: []string{"end"}, FaultPeers: []string{"a"}, FaultPlaces: paths}, ends,
			[]string{"unix", "@a"}},
		"not that": {env{FaultPeers: []string{"a"}, FaultPlaces: paths}, nil, []string{"unix", "@b"}},
	} {
		test.world.Faults = 1
		want := map[string]bool{well: true}
		for _, text := range test.want {
			want[text] = true
		}
		if diff := cmp.Diff(want, outcomes(test.world, test.to...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFaultsOneByOne: what single kinds or operations lead to is together what all lead to.
func TestFaultsOneByOne(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := func(w env) map[string]bool {
		return withWorld(t, p, sut.Options{Args: []string{"ask"}, Environment: w}, dporSearch())
	}
	all := outcomes(allFaults(1))
	for name, words := range map[string][]string{"kinds": sut.FaultKinds, "operations": sut.FaultOperations} {
		union := map[string]bool{}
		for _, word := range words {
			w := env{Faults: 1, FaultKinds: []string{word}}
			if name == "operations" {
				w.FaultKinds, w.FaultOperations = sut.FaultKinds, []string{word}
			}
			maps.Copy(union, outcomes(w))
		}
		if diff := cmp.Diff(all, union); diff != "" {
			t.Errorf("single %s (-all at once +one by one):\n%s", name, diff)
		}
	}
	impossible := env{FaultKinds: []string{"refused"}, FaultOperations: []string{"read"}}
	if err := impossible.CheckFaults(); err == nil {
		t.Error("a read that is refused is taken for a fault")
	}
}

// TestFaultsLeaveNoHole: the peer sees a beginning of what was sent, whatever fails.
func TestFaultsLeaveNoHole(t *testing.T) {
	seen := withFaults(t, "twice", 2, dporSearch())
	// The last two are in silence.
	for _, text := range []string{"sent completed: a,b,close", "sent completed: a", "sent completed: "} {
		if !seen[text] {
			t.Errorf("nobody saw %q", text)
		}
	}
	for text := range seen {
		if _, received, _ := strings.Cut(text, ": "); strings.HasPrefix(received, "b") {
			t.Errorf("%q: the second text without the first", text)
		}
	}
}

// TestFaultsAreBounded: of two connections one fails at a time, unless both may. The reduction
// finds what the enumeration does, as far as that gets.
func TestFaultsAreBounded(t *testing.T) {
	printed := func(faults int, s *explore.Search) map[string]bool {
		texts := map[string]bool{}
		for text := range withFaults(t, "two", faults, s) {
			texts[text[:strings.Index(text, ":")]] = true
		}
		return texts
	}
	failures := []string{"refused", "unanswered", "reset", "end", "late"}
	want := map[string]bool{"[ab cd] completed": true}
	for _, failure := range failures {
		want["["+failure+" cd] completed"], want["[ab "+failure+"] completed"] = true, true
	}
	if diff := cmp.Diff(want, printed(1, dporSearch())); diff != "" {
		t.Errorf("one fault (-want +got):\n%s", diff)
	}
	for _, one := range failures {
		for _, two := range failures {
			want["["+one+" "+two+"] completed"] = true
		}
	}
	if diff := cmp.Diff(want, printed(2, dporSearch())); diff != "" {
		t.Errorf("two faults (-want +got):\n%s", diff)
	}
	for text := range printed(2, randomSearch(3000, 1)) {
		if !want[text] {
			t.Errorf("a random execution prints %s, which the reduced search has not found", text)
		}
	}
}

// TestShortWrites: how much of a request a write takes is a choice, where that is asked for and as
// often as it is; the peer sees the request in so many pieces, and the program nothing of it.
// Faults come between the pieces.
func TestShortWrites(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{"ping", "p,ing", "p,i,ng", "p,i,n,g"}
	for limit := range 5 {
		want := map[string]bool{}
		for _, text := range pieces[:min(limit+1, len(pieces))] {
			want["ping completed: "+text+",close"] = true
		}
		o := sut.Options{Args: []string{"ask"}, Environment: env{ShortWrites: limit}}
		for name, s := range map[string]*explore.Search{"dpor": dporSearch(), "dfs": dfsSearch()} {
			if diff := cmp.Diff(want, withWorld(t, p, o, s)); diff != "" {
				t.Errorf("at most %d short writes, %s (-want +got):\n%s", limit, name, diff)
			}
		}
	}
	o := sut.Options{Args: []string{"ask"},
		Environment: env{ShortWrites: 1, Faults: 1, FaultKinds: sut.FaultKinds}}
	seen := withWorld(t, p, o, dporSearch())
	for _, text := range []string{"write: reset completed: p,close", "write: broken completed: p,close",
		"reset completed: p,ing,close"} {
		if !seen[text] {
			t.Errorf("with a fault nobody saw %q, but %v", text, seen)
		}
	}
	if diff := cmp.Diff(withWorld(t, p, o, dfsSearch()), seen); diff != "" {
		t.Errorf("with a fault (-dfs +dpor):\n%s", diff)
	}
}

// TestShortWritesAreBounded: of two connections one has its write cut at a time, unless both may.
func TestShortWritesAreBounded(t *testing.T) {
	p, err := buildProgram("testdata/faults", filepath.Join(tree, "faults"))
	if err != nil {
		t.Fatal(err)
	}
	for limit := range 3 {
		o := sut.Options{Args: []string{"two"}, Environment: env{ShortWrites: limit, ShortReads: limit / 2}}
		some, all := withWorld(t, p, o, dporSearch()), withWorld(t, p, o, maxExecutions(dfsSearch(), 5000))
		cut := 0
		for text := range some {
			if strings.Contains(text, "a,b") && strings.Contains(text, "c,d") {
				cut++
			}
			if !strings.HasPrefix(text, "[ab cd] completed") {
				t.Errorf("at most %d: %s", limit, text)
			}
		}
		if cut > 0 != (limit == 2) {
			t.Errorf("at most %d: %v", limit, some)
		}
		for text := range all {
			if !some[text] && limit < 2 {
				t.Errorf("at most %d: %s is found by enumeration only", limit, text)
			}
		}
	}
}

// TestFaultsInEveryScope: with a real peer, too, all scopes find the same ways to fail with the
// same results, and every fault of every operation is among them.
func TestFaultsInEveryScope(t *testing.T) {
	x := newPairTest(t, *deep)
	p := pair{scripts: []string{"a", "B"}, seed: 5, faults: 1}
	want := x.check(t, p, reference)
	for alternative := 1; alternative <= 11; alternative++ { // 2 of a connect, 3 of a read, 6 of a write
		if fault := " " + sut.Fault(alternative, 1<<11-1) + ";"; !strings.Contains(want.String(), fault) {
			t.Errorf("no execution has%s", fault)
		}
	}
	for _, v := range []variant{
		{dporSearch, "connection", "never", ckptd.BackendAuto, 2},
		{dporSearch, "auto", "after-connect", ckptd.BackendAuto, 1},
	} {
		if got := x.check(t, p, v); !got.equal(want) {
			t.Errorf("%v: %v, want %v (-group +this):\n%s", v, got.kind, want.kind,
				cmp.Diff(want.outcomes, got.outcomes))
		}
	}
}

// faultsOf is what went wrong with the network in an execution.
func faultsOf(log *sut.Log) (list string) {
	for i := range log.Events {
		if e := &log.Events[i]; e.Kind == sut.Stepped && e.Operation == sut.NetworkFault && e.Number > 0 {
			list += " " + sut.Fault(int(e.Number), e.Object) + ";"
		}
	}
	return list
}

// TestCutRequests: requests that come in one piece here and in two there, to a real peer that does
// not mind, make no difference: in no scope and with no strategy. In the cache both meet at the
// same places.
func TestCutRequests(t *testing.T) {
	x := newPairTest(t, *deep)
	for _, shared := range []bool{false, true} {
		p := pair{scripts: []string{"a+", "Ba"}, seed: 11, shared: shared}
		want := x.check(t, p, reference)
		variants := []variant{reference}
		if !shared {
			variants = []variant{{dporSearch, "auto", "never", ckptd.BackendAuto, 2},
				{dporSearch, "connection", "always", ckptd.BackendAuto, 1}}[:cases(2, 1)]
		}
		p.short = 1
		for _, v := range variants {
			if got := x.check(t, p, v); !got.equal(want) {
				t.Errorf("%v: %v, want %v (-whole +cut):\n%s", v, got.kind, want.kind,
					cmp.Diff(want.outcomes, got.outcomes))
			}
		}
	}
}
