package check

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

var (
	alphabetServer = example{"alphabet/server", "alphabet/server/tandem.yaml", nil}
	library        = example{"library", "library/tandem.yaml", nil}
	libraryFixed   = example{"library/fixed", "library/tandem.yaml", nil}
)

// TestServerWithClients checks a server whose clients go back with the search, in every way that
// there is to take them back.
func TestServerWithClients(t *testing.T) {
	for _, way := range []struct {
		backend    string
		strategy   strategy.Strategy
		scope      iocache.Scope
		executions int
	}{
		{ckptd.BackendCRIU, strategy.AfterIO{}, iocache.Group, 20},
		{ckptd.BackendMemory, strategy.Always{}, iocache.Group, 20},
		{ckptd.BackendAuto, strategy.Never{}, iocache.Group, 20},
		{ckptd.BackendAuto, strategy.AfterIO{}, iocache.Connection, 1},
	} {
		o := alphabetServer.options(t)
		o.Client, o.Strategy, o.SelfCheck, o.Scope = newClientBy(t, way.backend), way.strategy, 5, way.scope
		result := check(t, o)
		v, c := result.Verdict, result.Counts
		if v.Kind != explore.Holds || v.Executions != way.executions || v.Redundant != 0 {
			t.Errorf("%+v: %v %s, %d executions (%d redundant)", way, v.Kind, v.Reason, v.Executions,
				v.Redundant)
		}
		if goesBack := c.Restores+c.Restarts > 0; goesBack != (way.scope == iocache.Group) {
			t.Errorf("%+v: %d restores, %d restarts: in group scope it has to go back, in connection scope "+
				"all is known", way, c.Restores, c.Restarts)
		}
	}
}

// TestServerCounts: one execution is run for each partial order.
func TestServerCounts(t *testing.T) {
	reduced, complete := fingerprints(t, alphabetServer.options(t), dporSearch())
	all, executions := fingerprints(t, alphabetServer.options(t), dfsSearch())
	if complete != len(all) || len(reduced) != len(all) {
		t.Errorf("%d executions with %d partial orders, the dumb twin has %d in %d executions", complete,
			len(reduced), len(all), executions)
	}
}

// TestClientNoticesBug: the server recovers from a panic, and a client ends as it should not.
func TestClientNoticesBug(t *testing.T) {
	o := library.options(t)
	o.Client, o.Shrink = newClientBy(t, ckptd.BackendAuto), 100
	result := check(t, o)
	shows(t, o.Program, result, 20,
		"exited with status 52, and exit 0 is expected", "-> listener 0: listen at 127.0.0.1:8080",
		"<- connection 2: a client connects to listener 0", "<- connection 1: GET /borrow/emma HTTP/1.1",
		"exited with status 0",
	)
}

// TestShippedServers checks the other examples that are servers, with the clients that people have.
func TestShippedServers(t *testing.T) {
	for _, c := range []struct {
		example example
		want    explore.VerdictKind
		says    string
	}{
		{example{"tickets", "tickets/tandem.yaml", nil}, explore.Violated, "two clients are given ticket1"},
		{example{"tickets", "tickets/tandem.yaml", []string{"-atomic"}}, explore.Holds, ""},
		{library, explore.Violated, "and exit 0 is expected"},
		{libraryFixed, explore.Holds, ""},
		{example{"sshd", "sshd/tandem.yaml", nil}, explore.Violated,
			"peer dbclient exited with status 1, and exit 0 is expected"},
		{example{"sshd", "sshd/tandem.yaml", []string{"-ordered"}}, explore.Holds, ""},
	} {
		scopes := []iocache.Scope{iocache.Group, iocache.Connection}
		if c.example.pkg == "sshd" && !*deep {
			scopes = scopes[:1]
		}
		for _, scope := range scopes {
			o := c.example.options(t)
			o.Scope = scope
			result := check(t, o)
			said := ""
			if result.Counterexample != nil {
				said = result.Counterexample.Failure.String()
			}
			if result.Verdict.Kind != c.want || !strings.Contains(said, c.says) {
				t.Errorf("%v %v, scope %v: %v, %s", c.example, c.example.args, scope, result.Verdict, said)
			}
		}
	}
}

// TestPortIsTaken: a peer listens where the program wants to, which then is told so.
func TestPortIsTaken(t *testing.T) {
	o := alphabetServer.options(t)
	g := *o.Group
	g.Peers = append(httpGet.options(t).Group.Peers, g.Peers...)
	g.Files = append(httpGet.options(t).Group.Files, g.Files...)
	o.Group, o.Args = &g, []string{"-addr", "127.0.0.1:8080"}
	result := check(t, o)
	if result.Counterexample == nil ||
		!strings.Contains(result.Counterexample.Failure.String(), "address already in use") {
		t.Errorf("%v", result.Verdict)
	}
}

// TestRelay checks a program that is a server and a client: one of its clients connects again when
// it has its first answer.
func TestRelay(t *testing.T) {
	p, err := buildProgram("testdata/relay", filepath.Join(tree, "relay"))
	if err != nil {
		t.Fatal(err)
	}
	curl := func(name string, pages ...string) peers.Peer {
		c := peers.Peer{Name: name, Command: []string{"curl", "--silent", "--http1.0"}, After: "listen 9000",
			Expect: "exit 0"}
		for _, page := range pages {
			c.Command = append(c.Command, "http://{sut}:9000/"+page)
		}
		return c
	}
	options := func(backend string) Options {
		o := httpGet.options(t)
		g := *o.Group
		g.Peers = append(g.Peers[:len(g.Peers):len(g.Peers)], curl("anne", "file0.txt", "file1.txt"),
			curl("bob", "file1.txt"))
		o.Group, o.Program, o.Package, o.Args, o.Client = &g, p, "relay", nil, newClientBy(t, backend)
		o.Search = untilViolation(maxExecutions(dporSearch(), 40))
		return o
	}
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendMemory} {
		o := options(backend)
		o.SelfCheck = 10
		result := check(t, o)
		if v, c := result.Verdict, result.Counts; v.Kind != explore.Unknown || v.Executions != 40 ||
			c.Restores == 0 {
			t.Errorf("%s: %v, %d restores", backend, v, c.Restores)
		}
	}
	o := options(ckptd.BackendAuto)
	o.Scope = iocache.Connection
	var dependence *iocache.Dependence
	if _, err := Run(context.Background(), o); !errors.As(err, &dependence) ||
		!strings.Contains(err.Error(), "Use scope group") {
		t.Errorf("scope connection, where one connection makes a client open another: %v", err)
	}
}

// TestArrivals: a program that serves one client after the other depends on their order, which is
// that of the configuration, or any.
func TestArrivals(t *testing.T) {
	p, err := buildProgram("testdata/arrival", filepath.Join(tree, "arrival"))
	if err != nil {
		t.Fatal(err)
	}
	g := peers.Group{}
	for _, name := range []string{"one", "two", "three"} {
		g.Peers = append(g.Peers, peers.Peer{
			Name: name, After: "listen 9000",
			Command: []string{"bash", "-c", "exec 3<>/dev/tcp/{sut}/9000; echo $0 >&3; read x <&3", name},
		})
	}
	for _, any := range []bool{false, true} {
		o := alphabetServer.options(t)
		g.AnyArrival = any
		o.Program, o.Package, o.Args, o.Group, o.Client = p, "arrival", nil, &g,
			newClientBy(t, ckptd.BackendAuto)
		o.Violations = 10
		result := check(t, o)
		executions, violations, says := 1, 0, "clients connect in the order of the configuration"
		if any { // two orders of six begin with the first
			executions, violations, says = 6, 2, "clients connect in every order"
		}
		if result.Verdict.Executions != executions || len(result.Violations) != violations ||
			!slices.Contains(Assumptions(o).Other, says) {
			t.Errorf("any order %v: %v in %d executions, violations %d, want %d; assumed %q",
				any, result.Verdict.Kind, result.Verdict.Executions, len(result.Violations), violations,
				Assumptions(o).Other)
		}
	}
}
