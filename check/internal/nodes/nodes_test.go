package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// build builds the program of a package below the directory of examples.
func build(t *testing.T, pkg string) *sut.Program {
	t.Helper()
	dir := "../../../examples/nodes"
	if strings.HasPrefix(pkg, "./testdata/") {
		dir = "."
	}
	return suttest.Build(t, sut.BuildOptions{Dir: dir, Package: pkg})
}

// TestAccumulator: the example of Demeter's paper takes 14 executions for 18.
func TestAccumulator(t *testing.T) {
	r, err := Run(t.Context(), Config{Nodes: []Node{
		{Name: "client", Program: build(t, "./accumulator/client")},
		{Name: "primary", Program: build(t, "./accumulator/primary"), Listen: "127.0.0.1:7001"},
		{Name: "secondary", Program: build(t, "./accumulator/secondary"), Listen: "127.0.0.1:7002"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Holds || r.Counts.LocalTraces != 14 || r.Counts.GlobalTraces != 18 {
		t.Errorf("%v: %+v", r.Verdict, r.Counts)
	}
	sum := 0
	for _, traces := range r.Traces {
		sum += traces[0] * traces[1] * traces[2]
	}
	if sum != 18 || len(r.Traces) != r.Counts.Skeletons {
		t.Errorf("the products of %v are %d", r.Traces, sum)
	}
}

// TestPhilosophers: at a round table in parts, each fork is taken in one of two orders, and a
// circle of waiting is the same order everywhere. If the last philosopher is wary, both circles are
// cut; else one of them is a deadlock.
func TestPhilosophers(t *testing.T) {
	for _, size := range [][2]int{{2, 1}, {2, 2}, {2, 3}, {3, 1}} {
		r, err := Run(t.Context(), Config{Nodes: table(t, size[0], size[1], true)})
		if err != nil {
			t.Fatal(err)
		}
		want := float64(int(1)<<(size[0]*size[1]) - 2)
		if r.Verdict != model.Holds || r.Counts.GlobalTraces != want {
			t.Errorf("%d parts with %d seats: %v (%s), %+v; want %v executions of all", size[0], size[1],
				r.Verdict, r.Reason, r.Counts, want)
		}
	}
	r, err := Run(t.Context(), Config{Nodes: table(t, 2, 2, false)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 || r.Violations[0].Outcome != model.Deadlock {
		t.Errorf("%v: %+v; want a deadlock", r.Verdict, r.Violations)
	}
}

// TestNamedStates: programs that name their states are told, once, that it has no effect here.
func TestNamedStates(t *testing.T) {
	program := build(t, "./testdata/named")
	r, err := Run(t.Context(), Config{Nodes: []Node{{Name: "a", Program: program},
		{Name: "b", Program: program}, {Name: "c", Program: build(t, "./testdata/script")}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tandem.State: no execution ends at a known state: a node knows only its own"}
	if r.Verdict != model.Holds || !slices.Equal(r.Notes, want) {
		t.Errorf("%v (%s), notes %q, want %q", r.Verdict, r.Reason, r.Notes, want)
	}
}

// TestDelays: within a bound on delays there is less, and with one that is never reached there is
// all.
func TestDelays(t *testing.T) {
	list := []Node{
		{Name: "client", Program: build(t, "./accumulator/client")},
		{Name: "primary", Program: build(t, "./accumulator/primary"), Listen: "127.0.0.1:7001"},
		{Name: "secondary", Program: build(t, "./accumulator/secondary"), Listen: "127.0.0.1:7002"},
	}
	counts := map[int]int{}
	for _, delays := range []int{0, 1, 9} {
		r, err := Run(t.Context(), Config{Nodes: list, Delays: &delays})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != model.Holds {
			t.Errorf("%d delays: %v, %s", delays, r.Verdict, r.Reason)
		}
		counts[delays] = int(r.Counts.GlobalTraces)
	}
	if counts[0] >= counts[1] || counts[1] > counts[9] || counts[9] != 18 {
		t.Errorf("executions by delays: %v", counts)
	}
}

// TestCounter: an update is lost that one client by itself would never lose, and with the mistake
// mended every order is fine.
func TestCounter(t *testing.T) {
	server, client := build(t, "./counter/server"), build(t, "./counter/client")
	run := func(args ...string) *Result {
		r, err := Run(t.Context(), Config{Nodes: []Node{
			{Name: "server", Program: server, Listen: "127.0.0.1:7100"},
			{Name: "one", Program: client, Args: args},
			{Name: "two", Program: client, Args: args},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := run()
	if v := r.Violation(); v == nil || v.Node != "server" || v.Outcome != model.Panicked {
		t.Errorf("%v: %+v", r.Verdict, v)
	}
	if r := run("fixed"); r.Verdict != model.Holds {
		t.Errorf("fixed: %v, %s", r.Verdict, r.Reason)
	}
}

// TestRetry: an order that is sent again at the time at which its answer comes is carried out
// twice. A server that knows it holds.
func TestRetry(t *testing.T) {
	server, client := build(t, "./retry/server"), build(t, "./retry/client")
	for _, c := range []struct {
		args []string
		want model.Verdict
	}{{nil, model.Violated}, {[]string{"fixed"}, model.Holds}} {
		r, err := Run(t.Context(), Config{Nodes: []Node{
			{Name: "server", Program: server, Args: c.args, Listen: "127.0.0.1:7400"},
			{Name: "client", Program: client},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want {
			t.Errorf("%q: %v, %s", c.args, r.Verdict, r.Reason)
		}
		if v := r.Violation(); v != nil && (v.Node != "server" ||
			!slices.Contains(v.Events, report.NodeStep{What: "the time is 1 s", Kind: "pass", Time: 1e9})) {
			t.Errorf("%+v", v)
		}
	}
}

// TestWeb: a client and a server of net/http.
func TestWeb(t *testing.T) {
	r, err := Run(t.Context(), Config{Nodes: []Node{
		{Name: "server", Program: build(t, "./web/server"), Listen: "127.0.0.1:7200"},
		{Name: "client", Program: build(t, "./web/client")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Holds {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// scripted are nodes that follow scripts: see testdata/script.
func scripted(t *testing.T, scripts ...[]string) (*Result, error) {
	t.Helper()
	return Run(t.Context(), Config{Nodes: scriptedNodes(build(t, "./testdata/script"), scripts...)})
}

// scriptedNodes are the nodes of scripted, with that program.
func scriptedNodes(program *sut.Program, scripts ...[]string) (list []Node) {
	for i, args := range scripts {
		list = append(list, Node{Name: string(rune('a' + i)), Program: program, Package: "./testdata/script",
			Args: args, Listen: fmt.Sprintf("127.0.0.1:730%d", i)})
	}
	return list
}

// TestWaitForEachOther: nodes that wait for each other are in a deadlock.
func TestWaitForEachOther(t *testing.T) {
	r, err := scripted(t, []string{"listen :7300", "dial :7301", "read 1"},
		[]string{"listen :7301", "dial :7300", "read 1"})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation(); v == nil || v.Outcome != model.Deadlock {
		t.Errorf("%v: %+v", r.Verdict, v)
	}
}

// TestAcceptedInOrder: what a client connects one after the other is accepted in this order.
func TestAcceptedInOrder(t *testing.T) {
	for bytes, want := range map[string]model.Verdict{"2": model.Holds, "1": model.Violated} {
		server := []string{"listen :7300", "accept", "read 9", "not " + bytes, "accept", "read 9"}
		r, err := scripted(t, server, []string{"dial :7300", "write x", "dial :7300", "write yy"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want {
			t.Errorf("nobody expects %s bytes first: %v, %s", bytes, r.Verdict, r.Reason)
		}
	}
}

// TestNeverListens: a node that others connect to has to listen.
func TestNeverListens(t *testing.T) {
	_, err := scripted(t, []string{"dial :7301"}, nil)
	const want = "node b never listens at 127.0.0.1:7301, where node a connects to it: have it listen " +
		"there, or give it the address at which it does"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestEverywhere: who listens at a port only is reached at that of the node.
func TestEverywhere(t *testing.T) {
	for _, address := range []string{":7301", "0.0.0.0:7301"} {
		r, err := scripted(t, []string{"dial :7301", "write x"},
			[]string{"everywhere " + address, "accept", "read 1"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != model.Holds {
			t.Errorf("%s: %v, %s", address, r.Verdict, r.Reason)
		}
	}
}

// TestSameAddress: two nodes cannot have one address.
func TestSameAddress(t *testing.T) {
	_, err := Run(t.Context(), Config{Nodes: []Node{{Name: "a", Listen: "127.0.0.1:1"},
		{Name: "b", Listen: "127.0.0.1:1"}}})
	if want := "nodes a and b both listen at 127.0.0.1:1: give each an address of its own"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPartOfStream: of two writes, a read finds the first one or both. Each is found to be wrong by
// a node that does not expect it.
func TestPartOfStream(t *testing.T) {
	for _, unexpected := range []string{"1", "2"} {
		r, err := scripted(t, []string{"dial :7301", "write x", "write y"},
			[]string{"listen :7301", "accept", "read 9", "not " + unexpected})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Violation(); v == nil || v.Outcome != model.Panicked {
			t.Errorf("nobody reads %s bytes: %v", unexpected, r.Verdict)
		}
	}
	r, err := scripted(t, []string{"dial :7301", "write x", "write y"},
		[]string{"listen :7301", "accept", "read 9", "not 0"})
	if err != nil {
		t.Fatal(err)
	}
	// What is closed with something unread is reset, but the other node does nothing with it then.
	if r.Verdict != model.Holds || r.Counts.Skeletons != 2 {
		t.Errorf("%v, %s, %+v", r.Verdict, r.Reason, r.Counts)
	}
}

// TestMoreOfStream: more than what was sent at first can have come when a node reads.
func TestMoreOfStream(t *testing.T) {
	r, err := scripted(t, []string{"dial :7301", "write x", "read 1", "write y"},
		[]string{"listen :7301", "accept", "write r", "read 9", "not 2"})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation(); v == nil || v.Outcome != model.Panicked {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// TestLimits: what a real network could do besides is not known to be harmless.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		a, b   []string
		reason string
	}{
		{[]string{"listen :7300", "accept", "dial :7301"}, []string{"listen :7301", "accept", "dial :7300"},
			"nodes a and b listen, and nobody connects or sends to them"},
	} {
		r, err := scripted(t, c.a, c.b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != model.Unknown || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%v: %s, want %s", r.Verdict, r.Reason, c.reason)
		}
	}
}

// TestCircle: three nodes that listen, and connect to each other only when somebody has come.
func TestCircle(t *testing.T) {
	r, err := scripted(t, []string{"listen :7300", "accept", "dial :7301"},
		[]string{"listen :7301", "accept", "dial :7302"}, []string{"listen :7302", "accept", "dial :7300"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "nodes a, b and c listen, and nobody connects or sends to them: they may wait for each other"
	if r.Verdict != model.Unknown || r.Reason != want {
		t.Errorf("%v: %s, want %s", r.Verdict, r.Reason, want)
	}
}

// TestLeaks: a goroutine that is left when a node ends is a violation if that is asked for, and is
// replayed as one. The connections of the node are closed all the same.
func TestLeaks(t *testing.T) {
	list := scriptedNodes(build(t, "./testdata/script"), []string{"dial :7301", "write x", "leave"},
		[]string{"listen :7301", "accept", "read 1"})
	r, err := Run(t.Context(), Config{Nodes: list})
	if err != nil || r.Verdict != model.Holds {
		t.Fatalf("not asked for: %v, %s, %v", r.Verdict, r.Reason, err)
	}
	if r, err = Run(t.Context(), Config{Nodes: list, Leaks: true}); err != nil {
		t.Fatal(err)
	}
	v := r.Violation()
	if v == nil || v.Node != "a" || v.Outcome != model.Leaked || v.Recording == nil {
		t.Fatalf("%v: %s, %+v", r.Verdict, r.Reason, v)
	}
	again, err := Replay(t.Context(), programsOf(list), throughFile(t, v.Recording), 3)
	if err != nil || again.Violation == nil || again.Violation.Outcome != model.Leaked {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestNotAccepted: a server that ends with a connection it has not accepted closes that. Its client
// does not expect the end of the stream.
func TestNotAccepted(t *testing.T) {
	r, err := scripted(t, []string{"listen :7300", "accept", "write x"},
		[]string{"dial :7300", "read 1"}, []string{"dial :7300", "read 1"})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation(); v == nil || v.Outcome != model.Panicked {
		t.Errorf("%v: %s, %+v", r.Verdict, r.Reason, r.Counts)
	}
}

// TestTime: what was sent in time is not late, and what was not is.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		client, server []string
		want           model.Verdict
	}{
		{[]string{"dial :7301", "sleep 1", "write x"},
			[]string{"listen :7301", "accept", "read 1"}, model.Holds},
		// Both clocks show the same, also before a node has spoken to any other.
		{[]string{"sleep 1", "dial :7301", "write x"},
			[]string{"listen :7301", "accept", "within 2", "read 1"}, model.Holds},
		{[]string{"dial :7301", "sleep 2", "write x"},
			[]string{"listen :7301", "accept", "within 1", "read 1"}, model.Violated},
		{[]string{"dial :7301", "sleep 1", "write x"},
			[]string{"listen :7301", "accept", "within 2", "read 1"}, model.Holds},
		{[]string{"sleep 1", "dial :7301", "sleep 1", "write x"},
			[]string{"sleep 1", "listen :7301", "accept", "within 2", "read 1"}, model.Holds},
		// Time is not up to who is asked first.
		{[]string{"sleep 3", "dial :7301", "write x"},
			[]string{"listen :7301", "sleep 2", "accept", "within 2", "read 1"}, model.Holds},
	} {
		r, err := scripted(t, c.client, c.server)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want {
			t.Errorf("%q, %q: %v, %s", c.client, c.server, r.Verdict, r.Reason)
		}
	}
}

// TestSameTime: what is sent at the time at which another node's timer is due comes before that, or
// after it. Each is found to be wrong by a node that does not expect it.
func TestSameTime(t *testing.T) {
	for _, unexpected := range []string{"0", "1"} {
		r, err := scripted(t, []string{"dial :7301", "sleep 1", "write x"},
			[]string{"listen :7301", "accept", "try 1", "not " + unexpected})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Violation(); v == nil || v.Outcome != model.Panicked {
			t.Errorf("nobody reads %s bytes: %v, %s", unexpected, r.Verdict, r.Reason)
		}
	}
}

// TestTimersForEver: nodes whose timers never stop are explored up to some time.
func TestTimersForEver(t *testing.T) {
	r, err := scripted(t, []string{"dial :7301", "write x", "heartbeat"},
		[]string{"listen :7301", "accept", "read 1"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Unknown || !strings.Contains(r.Reason, "the clock has advanced") {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// TestDeterministic: the same nodes give the same numbers, and the same counterexample.
func TestDeterministic(t *testing.T) {
	var first *Result
	for range 5 {
		r, err := scripted(t, []string{"dial :7302", "write x"}, []string{"dial :7302", "write y"},
			[]string{"listen :7302", "accept", "read 1", "accept", "read 1", "not 1"})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if d := cmp.Diff(first, r, cmpopts.IgnoreUnexported(Violation{})); d != "" {
			t.Fatalf("(-first +again)\n%s", d)
		}
	}
}
