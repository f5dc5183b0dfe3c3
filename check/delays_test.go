package check

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

var delayPairs = flag.Int("delays", 2, "how many programs with servers that answer late TestDelays generates")

// delayed is a program and a server that answers late.
type delayed struct {
	scripts  []string // of the goroutines: see testdata/delays/client
	deadline time.Duration
	server   string // "c", "go", or "virtual": the first on a virtual clock
}

func drawDelayed(t *rapid.T) delayed {
	d := delayed{
		server:   rapid.SampledFrom([]string{"c", "c", "go", "virtual"}).Draw(t, "server"),
		deadline: rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "deadline"),
	}
	request := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 7).Draw(t, "never") == 0 {
			return "x0"
		}
		how := rapid.SampledFrom(strings.Split("pseentrcl", "")).Draw(t, "how")
		return how + fmt.Sprint(rapid.SampledFrom([]int{0, 1, 5, 20, 45, 600, 900}).Draw(t, "delay"))
	})
	for range rapid.IntRange(1, 2).Draw(t, "goroutines") {
		d.scripts = append(d.scripts, strings.Join(rapid.SliceOfN(request, 1, 2).Draw(t, "requests"), " "))
	}
	return d
}

// atOnce is the same with a server that answers at once, if it does.
func (d delayed) atOnce() delayed {
	scripts := d.scripts
	d.scripts = nil
	for _, s := range scripts {
		var now []string
		for _, request := range strings.Fields(s) {
			now = append(now, request[:1]+"0")
		}
		d.scripts = append(d.scripts, strings.Join(now, " "))
	}
	return d
}

// delayTest checks programs with servers that answer late.
type delayTest struct {
	program *sut.Program
	servers map[string][]byte
	clients map[string]*ckptd.Client
}

func newDelayTest(t *testing.T) *delayTest {
	t.Helper()
	program, err := buildProgram("testdata/delays/client", filepath.Join(tree, "delays"))
	if err != nil {
		t.Fatal(err)
	}
	x := &delayTest{program: program, servers: map[string][]byte{}, clients: map[string]*ckptd.Client{}}
	dir := t.TempDir()
	for name, command := range map[string]*exec.Cmd{
		"go": exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(dir, "go"),
			"./testdata/delays/server"),
		"c": exec.Command("cc", "-O1", "-Wall", "-o", filepath.Join(dir, "c"), "testdata/delays/server.c",
			"-lpthread"),
	} {
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if x.servers[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendAuto} {
		x.clients[backend] = spawn(t, ckptd.Options{Backend: backend})
	}
	return x
}

func (x *delayTest) check(t rapid.TB, d delayed, v variant, args ...string) findings {
	peer := peers.Peer{Name: "server", Command: []string{"{scratch}/server"}, Listen: "127.0.0.1:7000",
		VirtualClock: d.server == "virtual"}
	server := x.servers["c"]
	if d.server == "go" {
		server = x.servers["go"]
	}
	group := peers.Group{
		Peers:        []peers.Peer{peer},
		Files:        []peers.File{{Path: "{scratch}/server", Content: server, Mode: 0o755}},
		ReadyTimeout: 30 * time.Second,
	}
	if d.deadline > 0 {
		args = append(args, "-deadline", d.deadline.String())
	}
	o := Options{
		Program: x.program, Package: "delays", Args: append(args, d.scripts...), Depth: 1000,
		PeerOptions: PeerOptions{Client: x.clients[v.backend], Group: &group, PeerPatience: 5 * time.Second},
	}
	found, err := v.check(o)
	// Delays go by the machine's clock. Where that goes on while inputs are given again, the check
	// ends with an error, and no verdict.
	for try := 1; try < 5 && audit.Contradicts(err) && d.server != "virtual"; try++ {
		t.Logf("%+v: a timer of the server has ended too early: again", d)
		found, err = v.check(o)
	}
	if err != nil {
		t.Fatalf("%+v\n%v: %v", d, v, err)
	}
	return found
}

// TestDelays: how long a server takes makes no difference to a program that waits for it, and
// neither do the ways to check.
func TestDelays(t *testing.T) {
	x, count := newDelayTest(t), map[string]int{}
	for seed := range *delayPairs {
		d := rapid.Custom(drawDelayed).Example(seed)
		want := x.check(t, d.atOnce(), reference)
		v := reference
		v.strategy = strategy.Names()[seed%len(strategy.Names())]
		v.backend = []string{ckptd.BackendAuto, ckptd.BackendAuto, ckptd.BackendCRIU}[seed%3]
		if got := x.check(t, d, v); !got.equal(want) {
			t.Errorf("%+v\n%v: %v\nwant %v", d, v, got, want)
		}
		count["server "+d.server]++
		count["verdict "+want.kind.String()]++
		if d.deadline > 0 {
			count["with a deadline"]++
		}
		if n := seed + 1; n%25 == 0 || n == *delayPairs {
			t.Logf("%d pairs: %v", n, count)
		}
	}
}

// orderOfDelays are scripts, each of a connection, whose answers come late, and the orders that are
// possible.
type orderOfDelays struct {
	server   string
	scripts  []string
	deadline time.Duration
	want     []string // outcomes
}

// TestOrderOfDelays: answers come in the order in which they are due, and a deadline of the program
// is on the same line of time. On a virtual clock those that are due together come in every order.
// On the machine's clock the delays lie far apart, and a try in which the machine was so slow that
// a timer ended too early does not count.
func TestOrderOfDelays(t *testing.T) {
	x := newDelayTest(t)
	tests := []orderOfDelays{
		{"virtual", []string{"s400", "e80"}, 0, []string{"[1.0 0.0]"}},
		{"virtual", []string{"c100", "n100"}, 0, []string{"[0.0 1.0]", "[1.0 0.0]"}},
		{"virtual", []string{"p400", "n80"}, 240 * time.Millisecond, []string{"[1.0 0 late]"}},
		{"go", []string{"n1500", "n80"}, 0, []string{"[1.0 0.0]"}},
		{"c", []string{"p3000", "n80"}, 1500 * time.Millisecond, []string{"[1.0 0 late]"}},
	}
	if *deep {
		tests = append(tests,
			orderOfDelays{"c", []string{"p80", "n1500"}, 0, []string{"[0.0 1.0]"}},
			orderOfDelays{"c", []string{"t1500", "e80"}, 0, []string{"[1.0 0.0]"}},
			orderOfDelays{"go", []string{"n3000", "n80"}, 1500 * time.Millisecond, []string{"[1.0 0 late]"}},
		)
	}
	for _, test := range tests {
		want := findings{kind: explore.Holds, outcomes: map[string]bool{}}
		for _, line := range test.want {
			want.outcomes[line+"\n"+explore.Completed.String()] = true
		}
		d := delayed{test.scripts, test.deadline, test.server}
		got := x.check(t, d, reference, "-order")
		for try := 1; try < 5 && !got.equal(want) && got.disturbed > 0; try++ {
			t.Logf("%+v: timers of the server ended too early %d times: again", d, got.disturbed)
			got = x.check(t, d, reference, "-order")
		}
		if !got.equal(want) {
			t.Errorf("%+v: %v, want %v (timers of the server ended too early %d times)", d, got, want,
				got.disturbed)
		}
	}
}
