package check

import (
	"context"
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
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

func idleProgram(t *testing.T) *sut.Program {
	t.Helper()
	p, err := buildProgram("testdata/idle", filepath.Join(tree, "idle"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// impatient is a web server that ends the connections that are idle when its timer is due; one that
// is late answers nothing before.
type impatient struct {
	late        bool
	connections int
	open        map[int]bool
	asked       []int
	passed      int
}

func (s *impatient) Exchange(in model.Input) (a model.Answer, err error) {
	const page = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
	switch in.Kind {
	case model.Connect:
		a.Conn = s.connections
		s.open[s.connections] = true
		s.connections++
	case model.Send:
		s.asked = append(s.asked, in.Conn)
	case model.Close:
		delete(s.open, in.Conn)
	}
	if in.Kind == model.Pass {
		s.passed++
	}
	if s.late && in.Kind != model.Pass {
		return a, nil
	}
	for _, c := range s.asked {
		d := model.Delivery{Conn: c, Data: []byte(page)}
		if !s.open[c] {
			d = model.Delivery{Conn: c, End: model.Reset}
		}
		a.Deliveries = append(a.Deliveries, d)
	}
	s.asked = nil
	if in.Kind == model.Pass && !s.late {
		for _, c := range slices.Sorted(maps.Keys(s.open)) {
			a.Deliveries = append(a.Deliveries, model.Delivery{Conn: c, End: model.EOF})
		}
		clear(s.open)
	}
	return a, nil
}

// idling is how executions of the program end, with how often time has passed for the server.
func idling(t *testing.T, late bool, timers int, s *explore.Search, args ...string) map[string]bool {
	t.Helper()
	seen, server := map[string]bool{}, (*impatient)(nil)
	newServer := func() sut.Peers {
		server = &impatient{late: late, open: map[int]bool{}}
		return server
	}
	o := sut.Options{Args: args, Environment: sut.Environment{PeerTimers: timers}}
	if _, err := eachExecutionWith(newServer, idleProgram(t), o, s,
		func(log *sut.Log, x explore.Execution) bool {
			if x.Outcome != explore.Redundant {
				seen[fmt.Sprintf("%v %d", x.Outcome, server.passed)] = true
			}
			return true
		}); err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestPeerTimers: a timer of the peers is due at any place or not at all, as often as is said;
// where the program waits for nothing else it is, and one that sleeps finds it due before and
// after.
func TestPeerTimers(t *testing.T) {
	for _, test := range []struct {
		late   bool
		timers int
		args   []string
		want   []string
	}{
		{timers: 0, want: []string{"completed 0"}},
		{timers: 1, want: []string{"completed 0", "completed 1", "panicked 1"}},
		{timers: 2, want: []string{"completed 0", "completed 1", "completed 2", "panicked 1", "panicked 2"}},
		{timers: 1, args: []string{"-again"}, want: []string{"completed 0", "completed 1"}},
		{timers: 2, args: []string{"-again", "-sleep"},
			want: []string{"completed 0", "completed 1", "completed 2", "panicked 2"}},
		{late: true, timers: 0, want: []string{"deadlock 0"}},
		{late: true, timers: 1, want: []string{"deadlock 1"}},
		{late: true, timers: 2, want: []string{"completed 2", "deadlock 2"}},
		{late: true, timers: 3, want: []string{"completed 2", "completed 3", "deadlock 3"}},
	} {
		got := slices.Sorted(maps.Keys(idling(t, test.late, test.timers, dporSearch(), test.args...)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("late %v, %d timers, %q (-want +got)\n%s", test.late, test.timers, test.args, diff)
		}
	}
}

// TestPeerTimersAgainstTwin: the search finds what all schedules show.
func TestPeerTimersAgainstTwin(t *testing.T) {
	for _, args := range [][]string{{}, {"-again"}, {"-sleep"}} {
		all := idling(t, false, 1, dfsSearch(), args...)
		if diff := cmp.Diff(all, idling(t, false, 1, dporSearch(), args...)); diff != "" {
			t.Errorf("%q (-all +DPOR)\n%s", args, diff)
		}
	}
}

// TestKeepAlive: merecat closes a connection that was idle. That is found where its timers may be
// due, and nowhere else, in every way to take it back; a client that expects it is right.
func TestKeepAlive(t *testing.T) {
	options := func(backend, name string, timers int, args ...string) Options {
		o := example{keepAlive.pkg, keepAlive.config, args}.options(t)
		var err error
		if o.Strategy, err = strategy.ByName(name); err != nil {
			t.Fatal(err)
		}
		o.Client, o.StrategyName, o.Violations, o.SelfCheck, o.World.PeerTimers = newClientBy(t, backend),
			name, 1000, 1, timers
		return o
	}
	if v := check(t, options(ckptd.BackendAuto, "after-io", 0)).Verdict; v.Kind != explore.Holds ||
		v.Executions != 1 {
		t.Errorf("without timers of the peers: %+v", v)
	}
	var want map[explore.Outcome]int
	for _, way := range [][2]string{{ckptd.BackendMemory, "always"}, {ckptd.BackendCRIU, "after-io"},
		{ckptd.BackendAuto, "never"}} {
		result := check(t, options(way[0], way[1], 1))
		if result.Verdict.Kind != explore.Violated || result.Verdict.Redundant != 0 {
			t.Errorf("%v: %v, %v", way, result.Verdict, result.Outcomes)
		}
		if want == nil {
			want = result.Outcomes
		}
		if diff := cmp.Diff(want, result.Outcomes); diff != "" {
			t.Errorf("%v: other outcomes than before (-before +now)\n%s", way, diff)
		}
	}
	o := options(ckptd.BackendMemory, "after-io", 1, "-again")
	if v := check(t, o).Verdict; v.Kind != explore.Holds {
		t.Errorf("with another connection: %+v", v)
	}
	o.Client, o.Search, o.SelfCheck = newClientBy(t, ckptd.BackendMemory), dfsSearch(), 100
	if v := check(t, o).Verdict; v.Kind != explore.Holds {
		t.Errorf("with another connection, all schedules: %+v", v)
	}
	showsThatTimePasses(t, options(ckptd.BackendMemory, "after-io", 1))
}

// showsThatTimePasses looks at the counterexample, and runs it again.
func showsThatTimePasses(t *testing.T, o Options) {
	t.Helper()
	o.Violations, o.Shrink = 1, 100
	result := check(t, o)
	shows(t, o.Program, result, 20,
		"Schedule: 0 preemptions", "timers  the timers of the peers\n", "time passes for the peers",
		"-> peers: time passes until a timer is due",
		"<- connection 0: end of stream", "timers of the peers fire early: at most 1 time in an execution",
	)
}

// TestPeerTimersConcernAllConnections: so the scope must be group.
func TestPeerTimersConcernAllConnections(t *testing.T) {
	o := keepAlive.options(t)
	o.Scope = iocache.Connection
	if _, err := Run(context.Background(), o); err == nil ||
		!strings.Contains(err.Error(), "use scope group") {
		t.Errorf("%v", err)
	}
}
