package check

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/strategy"
)

// shipped are the examples that have peers.
var shipped = []struct {
	example
	want   explore.VerdictKind
	random bool // answers of the peers differ from run to run
	varies bool // and so does what the program makes of them
	shared bool // and they depend on what came on other connections
	group  bool // only that scope is possible: time passes for all connections
	few    bool // schedules: a search without reduction gets to the end
	sample bool // it is checked in one way when not all are asked for
}{
	{example: example{alphabet.pkg, alphabet.config, []string{"-connections", "2", "-requests", "1"}},
		want: explore.Holds, few: true},
	{example: randomAlphabet, want: explore.Holds, random: true, varies: true},
	{example: alphabetServer, want: explore.Holds, few: true},
	{example: httpGet, want: explore.Holds},
	{example: example{"redis", "redis/tandem.yaml", nil}, want: explore.Violated, shared: true,
		few: true, sample: true},
	{example: example{"tickets", "tickets/tandem.yaml", nil}, want: explore.Violated},
	{example: example{"tickets", "tickets/tandem.yaml", []string{"-atomic"}}, want: explore.Holds},
	{example: library, want: explore.Violated},
	{example: libraryFixed, want: explore.Holds, sample: true},
	{example: example{"sshd", "sshd/tandem.yaml", []string{"-ordered"}}, want: explore.Holds, random: true},
	{example: scpTo, want: explore.Violated, random: true},
	{example: keepAlive, want: explore.Violated, few: true, group: true},
	{example: scpToFixed, want: explore.Holds, random: true},
}

// waysToCheck are variants with each strategy in each scope by each backend; the reduction, where
// few schedules are left out by it, and the number of workers take turns.
func waysToCheck(scopes []string, few bool) (ways []variant) {
	searches := []func() *explore.Search{dporSearch, dporSearch}
	if few {
		searches[1] = dfsSearch
	}
	for i, s := range strategy.Names() {
		for j, scope := range scopes {
			for k, backend := range []string{ckptd.BackendAuto, ckptd.BackendCRIU} {
				ways = append(ways, variant{searches[(i+j)%2], scope, s, backend, 1 + (i+j+k)/2%2})
			}
		}
	}
	return ways
}

// TestExamplesInAllWays: every example has one verdict and the same outcomes, whatever the
// strategy, the scope where it is valid, the backend, the reduction and the number of workers.
// Strategy never gives inputs again that had random answers: that it ends in a contradiction, which
// is named, is right, too. EXAMPLES=all takes all ways, and not some.
func TestExamplesInAllWays(t *testing.T) {
	clients := map[string]*ckptd.Client{}
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendAuto} {
		clients[backend] = newClientBy(t, backend)
	}
	for n, e := range shipped {
		scopes := []string{"group", "auto", "connection"}
		switch {
		case e.group:
			scopes = scopes[:1]
		case e.shared:
			scopes = scopes[:2]
		}
		ways := waysToCheck(scopes, e.few)
		if os.Getenv("EXAMPLES") != "all" {
			if !e.sample {
				continue
			}
			ways = []variant{ways[(5*n+2+n/8)%len(ways)]} // the last one is by CRIU
		}
		t.Run(strings.Join(append([]string{e.String()}, e.args...), " "), func(t *testing.T) {
			o := e.options(t)
			o.Client = clients[reference.backend]
			want, err := reference.check(o)
			if err != nil || want.kind != e.want {
				t.Fatalf("%v, %v; want %v", want, err, e.want)
			}
			for _, v := range ways {
				o.Client = clients[v.backend]
				begin := time.Now()
				got, err := v.check(o)
				if e.random && v.strategy == "never" && audit.Contradicts(err) {
					continue
				}
				if same := got.equal(want) || e.varies && got.kind == want.kind; err != nil || !same {
					t.Errorf("%v: %v, %v\nwant %v", v, got, err, want)
				}
				t.Logf("%v: %d executions, %v", v, got.executions, time.Since(begin).Round(time.Millisecond))
			}
		})
	}
}
