package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// named has files that hold their names, and the directory "directory".
var named = beside{
	read: func(name string) ([]byte, error) { return []byte(name), nil },
	tree: func(name string) fs.FS {
		if name != "directory" {
			return nil
		}
		return fstest.MapFS{"index.html": {Data: []byte("<p>")},
			"sub/run": {Data: []byte("run"), Mode: 0o755}}
	},
}

func TestExample(t *testing.T) {
	example, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	redis, err := peers.FindProfile("redis")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := redis.Expand(peers.Parameters{Name: "cache", Port: 7000,
		Arguments: []string{"--maxmemory", "10mb"}})
	if err != nil {
		t.Fatal(err)
	}
	want := exampleConfig(example, cache)
	want.Bounds.EarlyTimersAsked = true // as zero
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("example.yaml (-want +got)\n%s", diff)
	}
}

// exampleConfig is what the file means, whose text is given, and a profile as it is expanded.
func exampleConfig(example []byte, cache peers.Group) Config {
	return Config{
		Args: []string{"-n", "2"},
		Env:  []string{"GREETING=hello"},
		Group: &peers.Group{
			Peers: []peers.Peer{{
				Name: "merecat",
				Command: []string{"merecat", "-n", "-f", "{scratch}/merecat.conf", "-p", "8080",
					"{scratch}/www"},
				Directory: "{scratch}",
				User:      "root", Group: "root",
				Env:     []string{"TZ=UTC"},
				Listen:  "127.0.0.1:8080",
				Choices: 2, VirtualClock: true,
			}, {
				Name:    "curl",
				Command: []string{"curl", "--silent", "--fail", "http://{sut}:9090/"},
				After:   "listen 9090",
				Expect:  "exit 0",
			}, cache.Peers[0]},
			Prepare: []peers.Preparation{{
				Path:     "{scratch}/dictionary",
				Command:  []string{"sh", "-c", "mkdir dictionary && seq 1000 | sort >dictionary/words"},
				Programs: []string{"/usr/bin/sort"},
			}},
			Files: []peers.File{
				cache.Files[0],
				{Path: "{scratch}/merecat.conf", Content: []byte("username = root\nchroot = false\n"),
					Mode: 0o600},
				{Path: "{scratch}/www/example.yaml", Content: example},
				{Path: "{scratch}/www/pixel.gif", Content: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00,")},
				{Path: "{scratch}/spool/"},
			},
			Binds:        map[string]string{"/root": "{scratch}/root"},
			ReadyTimeout: 10 * time.Second,
		},
		Strategy: "after-io",
		Backend:  "auto", Quiescence: "auto",
		Scope: "group",
		Room:  Room{CacheMib: 1024, CheckpointMib: 1024, SearchMib: 4096},
		Masks: []Mask{{"merecat", "Date: [^\r\n]*"}},
		Others: Others{Absent: []Absent{
			{Address: proxy.Address{At: netip.MustParseAddrPort("127.0.0.1:6379")}},
			{Name: "db.example.com"},
		}},
		Bounds: Bounds{Executions: 10_000, Depth: 10_000, Time: 10 * time.Minute, Preemptions: new(2),
			Delays: new(100), ExecutionsAsked: true},
		PreemptIn: []string{"golang.org/x/crypto/ssh", "example.org/library/..."},
		Races:     []string{"direct"},
		Date:      time.Date(2026, time.January, 31, 0, 0, 0, 0, time.UTC),
		SelfCheck: 1000, SaveInterval: 10 * time.Second, PeerPatience: 5 * time.Second,
		World: sut.Environment{
			Stdin: []byte("first line\n"), Disk: 64 << 20, Memory: 1 << 30,
			Signals: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, SignalLimit: 1,
			Machine: sut.Machine{Hostname: "tandem",
				Hosts: []string{"127.0.0.1 example.test", "127.0.0.1 merecat", "127.0.0.1 cache"}},
		},
	}
}

// TestExampleShowsEveryKey keeps example.yaml complete, and its defaults true.
func TestExampleShowsEveryKey(t *testing.T) {
	data, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var check func(fields map[string]field)
	check = func(fields map[string]field) {
		for name, f := range fields {
			if !strings.Contains(string(data), name+":") {
				t.Errorf("example.yaml does not show the key %s", name)
			}
			check(f.fields)
		}
	}
	check(schema.fields)
	example, err := Load("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n, m := example.Bounds.Preemptions, example.Bounds.Delays; n == nil || *n != 2 || m == nil ||
		*m != 100 {
		t.Errorf("example.yaml bounds what is picked by %v and %v, and is to show 2 and 100", n, m)
	}
	example.Bounds.Preemptions, example.Bounds.Delays, example.Bounds.ExecutionsAsked = nil, nil, false
	example.Bounds.EarlyTimersAsked = false
	example.World.Stdin, example.World.Signals, example.World.Hosts = nil, nil, nil
	if d := Default(); !cmp.Equal(example.World, d.World) || example.Strategy != d.Strategy ||
		example.Bounds != d.Bounds || example.SelfCheck != d.SelfCheck || example.Leaks != d.Leaks ||
		example.SaveInterval != d.SaveInterval || example.Workers != d.Workers ||
		!slices.Equal(example.Races, d.Races) {
		t.Errorf("example.yaml shows %q, %+v, %d, %v, %q and %v as defaults, they are %q, %+v, %d, %v, "+
			"%q and %v",
			example.Strategy, example.Bounds, example.SelfCheck, example.Leaks, example.Races,
			example.SaveInterval,
			d.Strategy, d.Bounds, d.SelfCheck, d.Leaks, d.Races, d.SaveInterval)
	}
}

// TestShippedConfigurations loads what the examples are checked with. Files that
// are built first need not be there.
func TestShippedConfigurations(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the examples have no configurations (%v)", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parse(file, data, named)
		if err != nil {
			t.Error(err)
		} else if c.Group == nil {
			t.Errorf("%s: it has no peers", file)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "{}", "null"} {
		got, err := parse("x.yaml", []byte(text), beside{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(Default(), got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
	got, err := parse("x.yaml", []byte("bounds: {depth: 7}"), beside{})
	want := Default()
	want.Bounds.Depth = 7
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("one bound given: %v (-want +got)\n%s", err, diff)
	}
}

// TestTimeLiftsExecutions: the default number of executions is no bound where a time was asked for.
// It is another one for nodes.
func TestTimeLiftsExecutions(t *testing.T) {
	const nodes = "nodes: [{name: a, package: ./a, listen: \"127.0.0.1:1\"}, {name: b, package: ./b}]\n"
	for text, want := range map[string]int{
		"bounds: {}":                            Default().Bounds.Executions,
		"bounds: {depth: 7}":                    Default().Bounds.Executions,
		"bounds: {time: 1h}":                    MaxExecutions,
		"bounds: {executions: 7, time: 1h}":     7,
		"bounds: {time: 1h, executions: 7}":     7,
		"bounds: {executions: 10000, time: 1h}": 10_000,
		nodes:                                   NodesExecutions,
		nodes + "bounds: {executions: 7}":       7,
		nodes + "bounds: {time: 1h}":            MaxExecutions,
	} {
		got, err := parse("x.yaml", []byte(text), beside{})
		if err != nil || got.Bounds.Executions != want {
			t.Errorf("%s: %d executions, error %v; want %d", text, got.Bounds.Executions, err, want)
		}
	}
}

// TestCaseIsKept: names of variables and paths are the user's, not keys of ours.
// TestEarlyTimersAsked: the key counts where it is there, also with zero.
func TestEarlyTimersAsked(t *testing.T) {
	for text, want := range map[string]struct {
		n     int
		asked bool
	}{"": {0, false}, "workers: 1": {0, false}, "early_timers: 0": {0, true}, "early_timers: 3": {3, true}} {
		got, err := parse("x.yaml", []byte(text), beside{})
		if err != nil || got.World.EarlyTimers != want.n || got.Bounds.EarlyTimersAsked != want.asked {
			t.Errorf("%q: %d, asked %v, %v", text, got.World.EarlyTimers, got.Bounds.EarlyTimersAsked, err)
		}
	}
}

func TestCaseIsKept(t *testing.T) {
	got, err := parse("x.yaml", []byte(`
env: {Upper.Dotted: a, lower: b, lower_2: "x=y"}
peers: [{name: A, command: [a], env: {PATH: /Bin}}]
binds: {/Home.d/X: "{scratch}/X"}
`), beside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Upper.Dotted=a", "lower=b", "lower_2=x=y"}, got.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"PATH=/Bin"}, got.Group.Peers[0].Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"/Home.d/X": "{scratch}/X"}, got.Group.Binds); diff != "" {
		t.Error(diff)
	}
}

// TestHosts: peers are found by their names, unless the file says where else.
func TestHosts(t *testing.T) {
	got, err := parse("x.yaml", []byte(`
hosts: {www: 127.0.0.2, six: "::1"}
peers:
- {name: www, command: [a], listen: "127.0.0.1:80"}
- {name: db, command: [a], listen: "0.0.0.0:81"}
- {name: client, command: [a]}
`), beside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"127.0.0.2 www", "::1 six", "127.0.0.1 db"}, got.World.Hosts); diff != "" {
		t.Error(diff)
	}
}

func TestTextsAreLiteral(t *testing.T) {
	got, err := parse("x.yaml", []byte(`args: [2, 0600, yes, true, 1.50, 2001-01-01, "", ~x]`), beside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2", "0600", "yes", "true", "1.50", "2001-01-01", "", "~x"},
		got.Args); diff != "" {
		t.Error(diff)
	}
}

func TestRaces(t *testing.T) {
	for text, want := range map[string][]string{
		"races: off": nil, "races: all": {"all"},
		"races: 'main, example.org/...'": {"main", "example.org/..."},
	} {
		c, err := parse("x.yaml", []byte(text), beside{})
		if diff := cmp.Diff(want, c.Races); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

// allKeys is how the keys of a file are listed.
var allKeys = "write one of " + strings.Join(slices.Sorted(maps.Keys(schema.fields)), ", ")

// badFiles are configurations and what is said about them.
var badFiles = []struct{ text, want string }{
	{"strategie: always", `x.yaml:1: strategie: there is no such key: did you mean strategy?; ` +
		allKeys},
	{"bounds:\n  time: 1m\n  maximum_weight: 3", "x.yaml:3: bounds.maximum_weight: there is no such key; " +
		"write one of delays, depth, executions, preemptions, time"},
	{"peers:\n- name: a\n  comand: [x]", "x.yaml:3: peers[0].comand: there is no such key: did you mean " +
		"command?; write one of after, arguments, choices, clock, command, directory, env, expect, " +
		"group, image, " +
		"listen, name, port, profile, program, user, working_directory"},
	{"Strategy: never", "x.yaml:1: Strategy: there is no such key: did you mean strategy?; " +
		allKeys},
	{"\"strat\\negy\": x", `x.yaml:1: "strat\negy": there is no such key: did you mean strategy?; ` +
		allKeys},
	{"[a]: x", `x.yaml:1: "": there is no such key; ` +
		allKeys},
	{"bounds: {" + strings.Repeat("x", 100) + ": 1}",
		`x.yaml:1: bounds."` + strings.Repeat("x", 64) +
			`": there is no such key; write one of delays, depth, executions, preemptions, time`},
	{"strategy: sometimes",
		`x.yaml:1: strategy: there is no checkpoint strategy "sometimes": choose one of never, after-nd, ` +
			`after-connect, adaptive, after-io, always`},
	{"scope: all", `x.yaml:1: scope: there is no scope "all": choose one of group, connection, auto`},
	{"checkpoint_mib: 15", "x.yaml:1: checkpoint_mib: 15 is not allowed: give a number from 16 to 65536"},
	{"cache_mib: 0", "x.yaml:1: cache_mib: 0 is not allowed: give a number from 1 to 65536"},
	{"mask:\n- {peer: b, pattern: a}", `x.yaml:2: mask[0].peer: there is no peer "b" that listens: name ` +
		`one that does, or leave it out`},
	{peer + "mask:\n- {peer: a, pattern: a}", `x.yaml:3: mask[0].peer: there is no peer "a" that ` +
		`listens: name one that does, or leave it out`},
	{"mask:\n- {pattern: \"(\"}", "x.yaml:2: mask[0].pattern: this is no regular expression: error " +
		"parsing regexp: missing closing ): `(`; write one as for Go's package regexp"},
	{"mask:\n- {pattern: a*}",
		`x.yaml:2: mask[0].pattern: "a*" matches where there is nothing, so that all answers would be ` +
			`the same: say what is around the field`},
	{"strategy:", "x.yaml:1: strategy: there is no value: give a text, or leave the key out"},
	{"strategy: [never]", "x.yaml:1: strategy: this is a list: give a text"},
	{"strategy: !!binary bmV2ZXI=",
		"x.yaml:1: strategy: the tag !!binary is not supported: write plain text"},
	{"strategy: never\nstrategy: always", "x.yaml:2: strategy: it is given twice: keep one"},
	{"strategy: never\nbounds: 3", `x.yaml:2: bounds: this is the text "3": give a mapping`},
	{"bounds: {preemptions: -1}", "x.yaml:1: bounds.preemptions: -1 is not allowed: give a number from 0 " +
		"to 1000000, or leave it out for any number"},
	{"bounds: {delays: 10000001}", "x.yaml:1: bounds.delays: 10000001 is not allowed: give a number from " +
		"0 to 1000000, or leave it out for any number"},
	{"bounds: {delays: few}", `x.yaml:1: bounds.delays: "few" is not a number: write one`},
	{"bounds: {executions: many}", `x.yaml:1: bounds.executions: "many" is not a number: write one`},
	{"bounds: {executions: 1.5}", `x.yaml:1: bounds.executions: "1.5" is not a number: write one`},
	{"races: off,main",
		`x.yaml:1: races: "off,main" is not allowed: give direct (the main module and its direct ` +
			`dependencies), main, all, off, or import paths with commas in between, each as in an import ` +
			`declaration or with /... at its end for all packages below`},
	{"races: ./x",
		`x.yaml:1: races: "./x" is not allowed: give direct (the main module and its direct ` +
			`dependencies), main, all, off, or import paths with commas in between, each as in an import ` +
			`declaration or with /... at its end for all packages below`},
	{"self_check: sometimes",
		`x.yaml:1: self_check: "sometimes" is not allowed: give all, off, or a number from 1 to ` +
			`1000000000, to check one execution of as many`},
	{"save_interval: -1s",
		`x.yaml:1: save_interval: -1s is not allowed: give a duration up to 720h0m0s, or 0s to save only ` +
			`when the check is interrupted`},
	{"peer_patience: 11m",
		`x.yaml:1: peer_patience: 11m0s is not allowed: give a duration up to 10m0s, or 0s not to wait ` +
			`for timers of peers at all`},
	{"workers: -1", "x.yaml:1: workers: -1 is not allowed: give a number up to 256, or 0 to leave it to " +
		"the search"},
	{"self_check: -1",
		`x.yaml:1: self_check: "-1" is not allowed: give all, off, or a number from 1 to 1000000000, to ` +
			`check one execution of as many`},
	{"faults: 101", `x.yaml:1: faults: 101 is not allowed: give a number from 1 to 100`},
	{"faults: many",
		`x.yaml:1: faults: "many" is not a number: give how many faults there can be first, such as 1 ` +
			`or 1,reset`},
	{"faults: [1, rest]",
		`x.yaml:1: faults: "rest" is no kind of fault: choose one of refused, reset, end, silent, lost, ` +
			`duplicated, reordered; peer=NAME and on=connect, on=read, on=write narrow them; ` +
			`partition, crash, pause and slow are for nodes`},
	{"faults: 1,slow", `x.yaml:1: faults: only connections between nodes are slow, and there are none: ` +
		`leave it out`},
	{"faults: 1,slow,slow", `x.yaml:1: faults: "slow" is given twice: leave one out`},
	{"faults: 1,crash", `x.yaml:1: faults: only nodes crash, and there are none: leave it out`},
	{"faults: 1,pause", `x.yaml:1: faults: only nodes are paused, and there are none: leave it out`},
	{"agree: [x]",
		`x.yaml:1: agree: only several nodes have what it is about, and there are none: leave it out`},
	{"exclusive: [x]",
		`x.yaml:1: exclusive: only several nodes have what it is about, and there are none: leave it out`},
	{"nodes:\n- {name: a, package: a}\n- {name: b, package: b}\nagree:\n- \"\"\n- a[",
		`x.yaml:5: agree[0]: "" is no name, and no pattern of names: write what tandem.Publish has, or a ` +
			"pattern such as log/*\n" +
			`x.yaml:6: agree[1]: "a[" is no name, and no pattern of names: write what tandem.Publish has, ` +
			`or a pattern such as log/*`},
	{"nodes:\n- {name: a, package: a, group: x}\n- {name: b, package: b}",
		`x.yaml:2: nodes[0].group: no other node is in group x: give another one the same group, or ` +
			`leave it out`},
	{"nodes:\n- {name: a, package: a, group: x}\n- {name: b, package: b, group: x}",
		"x.yaml:2: nodes[0].group: all nodes are in group x, so nobody sees it from outside: make " +
			"several groups, or leave it out\n" +
			"x.yaml:3: nodes[1].group: all nodes are in group x, so nobody sees it from outside: make " +
			"several groups, or leave it out"},
	{"nodes:\n- {name: a, package: a, group: x y}\n- {name: b, package: b, group: x y}\n" +
		"- {name: c, package: c}",
		"x.yaml:2: nodes[0].group: \"x y\" cannot be the name of a group: give one of letters and " +
			"digits\n" +
			"x.yaml:3: nodes[1].group: \"x y\" cannot be the name of a group: give one of letters and " +
			"digits"},
	{"nodes:\n- {name: a, package: a}\n- {name: b, package: b}\nagree: [" + strings.Repeat("x, ", 101) + "]",
		`x.yaml:4: agree: there are 101 names: use patterns such as log/*, at most 100 of them`},
	{"nodes:\n- {name: a, package: a}\n- {name: b, package: b}\nexclusive: [lock, \"\"]",
		`x.yaml:4: exclusive[1]: "" is no name, and no pattern of names: write what tandem.Publish has, ` +
			"or a pattern such as log/*"},
	{"faults: 1,reset,reset", `x.yaml:1: faults: "reset" is given twice: leave one out`},
	{"faults: 1,on=close",
		`x.yaml:1: faults: "close" is no operation at which the network fails: give on=connect, on=read, ` +
			`on=write`},
	{"faults: 1,refused,on=read",
		`x.yaml:1: faults: no fault of the kind refused can happen at a read: ` +
			`name other kinds or operations`},
	{"faults: 1,peer=a", `x.yaml:1: faults: there is no peer "a", nor any other: leave peer=a out`},
	{"peers: [{profile: merecat}]\nfaults: 1,peer=redis",
		`x.yaml:2: faults: there is no peer "redis": name one of merecat`},
	{"peers: [{name: a, command: [x]}]\nfaults: 1,peer=a",
		`x.yaml:2: faults: no connection to the peer a is known: it has neither listen nor after; leave ` +
			`the peer out`},
	{"peers: [{name: a, command: [x], after: listen 80}, {name: b, command: [x], after: listen " +
		"80}]\nfaults: 1,peer=a",
		`x.yaml:2: faults: it is not known which of several clients has opened a connection: name all of ` +
			`the peers that have after, or none`},
	{"peers: [{profile: merecat}]\npeer_timers: 101",
		`x.yaml:2: peer_timers: 101 is not allowed: give a number from 1 to 100`},
	{"peers: [{profile: redis}]\npeer_timers: 1",
		`x.yaml:2: peer_timers: no peer has a clock that can be advanced: set ` + "`clock`" +
			` to virtual for one that uses the C library`},
	{"peers: [{profile: merecat}]\npeer_timers: 1\nscope: auto",
		`x.yaml:2: peer_timers: timers of the peers concern all connections: use scope ` +
			`group, and not auto`},
	{"early_timers: 1001", `x.yaml:1: early_timers: 1001 is not allowed: give a number from 1 to 1000`},
	{"stdin: a\nstdin_from: b", "x.yaml:2: stdin_from: give either stdin, the text, or stdin_from, the " +
		"file that has it"},
	{"stdin_from: nosuch", "x.yaml:1: stdin_from: nosuch: there is no such file: check the name"},
	{"hostname: a_b",
		`x.yaml:1: hostname: "a_b" is not allowed: give a name of 1 to 63 letters, digits, dots and hyphens`},
	{"hostname: \"\"",
		`x.yaml:1: hostname: "" is not allowed: give a name of 1 to 63 letters, digits, dots and hyphens`},
	{"disk_mib: 0", "x.yaml:1: disk_mib: 0 is not allowed: give a number from 1 to 4096"},
	{"memory_mib: 70000", "x.yaml:1: memory_mib: 70000 is not allowed: give a number from 1 to 65536"},
	{"signal_limit: -1", "x.yaml:1: signal_limit: -1 is not allowed: give a number from 1 to 16"},
	{"signals: [SIGINT, TERM]",
		`x.yaml:1: signals[1]: "TERM" is no signal: give names such as SIGINT, SIGTERM or SIGHUP`},
	{"signals: [SIGKILL]", "x.yaml:1: signals[0]: SIGKILL cannot be handled by a program: leave it out"},
	{"signals: [SIGSEGV]", "x.yaml:1: signals[0]: SIGSEGV is for the Go runtime: leave it out"},
	{"signals: [" + strings.Repeat("SIGINT, ", 17) + "]", "x.yaml:1: signals: there are 17, and at most " +
		"16 are allowed: leave some out"},
	{"leaks: yes", `x.yaml:1: leaks: "yes" is not true or false: write one`},
	{"bounds: {executions: 0}", "x.yaml:1: bounds.executions: 0 is not allowed: give a number from 1 to " +
		"1000000000"},
	{"bounds: {executions: 99999999999999999999}",
		`x.yaml:1: bounds.executions: "99999999999999999999" is not a number: write one`},
	{"bounds:\n  depth: -1", "x.yaml:2: bounds.depth: -1 is not allowed: give a number from 1 to 1000000"},
	{"bounds:\n  time: 10", `x.yaml:2: bounds.time: "10" is not a duration such as 10s or 1h30m: write one`},
	{"bounds:\n  time: -1s", "x.yaml:2: bounds.time: -1s is not allowed: give a duration above 0 and up " +
		"to 720h0m0s"},
	{"args: -n 2", `x.yaml:1: args: this is the text "-n 2": give a list of texts`},
	{"args:\n- a\n- [b]", "x.yaml:3: args[1]: this is a list: give a text"},
	{"args:\n- a\n- \"\\0\"", `x.yaml:3: args[1]: "\x00" contains a zero byte, which no argument can: ` +
		`remove it`},
	{"args: &a [x]\npreempt_in: *a", "x.yaml:1: args: anchors and aliases are not supported: write the " +
		"value out\n" +
		"x.yaml:2: preempt_in: anchors and aliases are not supported: write the value out"},
	{"env: [A=b]", "x.yaml:1: env: this is a list: give a mapping from text to text"},
	{"env: {A: b,\n A: c}", `x.yaml:2: env["A"]: it is given twice: keep one`},
	{"env: {A=B: c}",
		`x.yaml:1: env["A=B"]: this cannot be the name of a variable: it is empty or contains =; give it ` +
			`another one`},
	{"env: {A: \"\\0\"}",
		`x.yaml:1: env["A"]: entry 0, "A=\x00", is not a variable: a name is not empty and without =, ` +
			"and neither name nor value contains a zero byte; write NAME=value"},
	{"short_writes: 1001", "x.yaml:1: short_writes: 1001 is not allowed: give a number from 1 to 1000"},
	{"short_reads: -1", "x.yaml:1: short_reads: -1 is not allowed: give a number from 1 to 1000"},
	{"hosts: {a: 10.0.0.1}",
		`x.yaml:1: hosts["a"]: "10.0.0.1" is not an address of the program's network, which is loopback: ` +
			`use one of 127.0.0.0/8, or ::1`},
	{"hosts: {'a b': 127.0.0.1}",
		`x.yaml:1: hosts["a b"]: this cannot be the name of a host: use letters, digits, - and dots`},
	{"hosts: {a..b: 127.0.0.1}",
		`x.yaml:1: hosts["a..b"]: this cannot be the name of a host: use letters, digits, - and dots`},
	{"env: {A: }", `x.yaml:1: env["A"]: there is no value: give a text, or leave the key out`},
	{"preempt_in: [net/http, '*']", `x.yaml:1: preempt_in[1]: "*" is not an import path: ` +
		"write it as in an import declaration, or with /... at its end for all packages below"},
	{"ready_timeout: 0s\npeers: [{name: a, command: [a]}]",
		"x.yaml:1: ready_timeout: 0s is not allowed: give a duration above 0 and up to 10m0s"},
	{"files: [{path: a, content: b}]", "x.yaml:1: files: it has no effect without peers: add some, or " +
		"leave it out"},
	{"peers: []\nbinds: {/root: /x}", "x.yaml:2: binds: it has no effect without peers: add some, or " +
		"leave it out"},
	{"peers: {name: a}", "x.yaml:1: peers: this is a mapping: give a list of mappings"},
	{"peers:\n- a", `x.yaml:2: peers[0]: this is the text "a": give a mapping`},
	{"peers: [{command: [a]}]", "x.yaml:1: peers[0]: it has no name: give it one"},
	{"peers: [{name: a}]", "x.yaml:1: peers[0]: peer a has no command: give it one"},
	{"peers:\n- {name: a, command: [a], after: 8080}",
		`x.yaml:2: peers[0]: peer a: after "8080" is not listen and a port: write one such as listen ` +
			`8080, listen ` +
			`udp:53 or listen unix:/path`},
	{"peers:\n- {name: a, command: [a], expect: exit 0}", "x.yaml:2: peers[0]: peer a: only a client is " +
		"expected to end: say with `after` when it is started, such as listen 8080"},
	{"peers:\n- {name: a, command: [a], choices: 0}", "x.yaml:2: peers[0].choices: 0 is not allowed: " +
		"give a number from 1 to 4096"},
	{"peers:\n- {name: a, command: [a], clock: frozen}", "x.yaml:2: peers[0].clock: \"frozen\" is not " +
		"allowed: choose machine or virtual"},
	{"peers:\n- {name: a, command: [a], choices: 4000}\n- {name: b, command: [b], choices: 2}",
		"x.yaml:1: peers: their choices, and the orders of clients, together make 8000 behaviours, " +
			"allowed are 4096"},
	{"peers:\n- {name: a, command: [a], listen: 127.0.0.1:1}\n- {name: b, command: [b], listen: 127.0.0.1:1}",
		"x.yaml:3: peers[1].listen: 127.0.0.1:1 is where peers[0] listens: give each peer its own port"},
	{peer + "files:\n- {content: x}", "x.yaml:3: files[0].path: it is missing or empty: say where the " +
		"file goes, such as {scratch}/www/index.html"},
	{peer + "files:\n- {path: x}", "x.yaml:3: files[0]: give either content, the text of the file, or " +
		"from, the file or directory to copy (or base64); " +
		"or end the path with a slash for an empty directory"},
	{peer + "files:\n- {path: x, content: a, from: b}",
		"x.yaml:3: files[0]: give either content, the text of the file, or from, the file or directory " +
			"to copy (or base64); or end the path with a slash for an empty directory"},
	{peer + "files:\n- path: x\n  from: nowhere", "x.yaml:4: files[0].from: nowhere: there is no such " +
		"file: check the name"},
	{peer + "files:\n- {path: x, content: a, mode: rw}",
		`x.yaml:3: files[0].mode: "rw" is not allowed: give permissions in octal, from 0001 to 0777, ` +
			`such as 0600`},
	{peer + "files:\n- {path: x, content: a, mode: 4755}",
		`x.yaml:3: files[0].mode: "4755" is not allowed: give permissions in octal, from 0001 to 0777, ` +
			`such as 0600`},
	{"a: b: c", "x.yaml: this is not YAML: mapping values are not allowed in this context; " +
		"fix what is wrong there"},
	{"a:\n\tb", "x.yaml: this is not YAML: line 2: found character that cannot start any token; " +
		"use blanks, not tabs, at the beginning of a line"},
	{"a: \"b\n\tc\"\nd: e: f", "x.yaml: this is not YAML: line 3: mapping values are not allowed in this " +
		"context; fix what is wrong there"},
	{"- a", "x.yaml: the file is not a mapping: it starts with keys such as peers: or bounds:"},
	{"\"a\" \"b\"", "x.yaml: this is not YAML: did not find expected <document start>; " +
		"fix what is wrong there"},
	{"args: []\n---\nargs: []", "x.yaml: there is more than one YAML document: keep one"},
}

const peer = "peers: [{name: a, command: [a]}]\n"

func TestBadFiles(t *testing.T) {
	for _, test := range badFiles {
		_, err := parse("x.yaml", []byte(test.text), beside{
			read: func(name string) ([]byte, error) { return readFile(name, 10) },
			tree: func(string) fs.FS { return nil },
		})
		if err == nil {
			t.Errorf("%s\nis accepted, want: %s", test.text, test.want)
			continue
		}
		if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%s\n(-want +got)\n%s", test.text, diff)
		}
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s\nthe error is a %T, want *Error", test.text, err)
		}
	}
}

// TestPeersRules checks that what peers finds wrong carries the line of its key.
func TestPeersRules(t *testing.T) {
	for text, want := range map[string]string{
		"peers:\n- name: a\n  command: [a]\n  listen: here": "x.yaml:2: peers[0]: ",
		peer + "binds:\n  /root: here":                      `x.yaml:3: binds["/root"]: `,
		peer + "files:\n- {path: ../x, content: a}": `x.yaml:3: files[0].path: path "../x" does ` +
			`not name a file below {scratch}`,
		"peers: [{profile: redis}, {profile: dropbear}]\nfiles:\n- {path: x, content: a}\n- {path: ../x, " +
			"content: a}": `x.yaml:4: files[1].path: path "../x" does`,
	} {
		_, err := parse("x.yaml", []byte(text), beside{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\nerror %v, want one that begins with %q", text, err, want)
		}
	}
}

// TestManyProblems: all are reported in the order of the file, the text is bounded.
func TestManyProblems(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "key%03d: x\n", i)
	}
	_, err := parse("x.yaml", []byte(text.String()), beside{})
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || !strings.HasPrefix(lines[0], "x.yaml:1: key000: ") ||
		lines[20] != "... and 980 more" {
		t.Errorf("%d lines, the first %q, the last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestValidate(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("the default is invalid: %v", err)
	}
	c.Bounds.Time, c.Strategy = 0, "often"
	c.Env = []string{"A=b", "broken"}
	c.World.Faults, c.World.EarlyTimers = -1, MaxEarlyTimers+1 // as flags may give them
	err := c.Validate()
	want := `strategy: there is no checkpoint strategy "often": choose one of ` +
		`never, after-nd, after-connect, adaptive, after-io, always
faults: -1 is not allowed: give a number from 1 to 100
early_timers: 1001 is not allowed: give a number from 1 to 1000
bounds.time: 0s is not allowed: give a duration above 0 and up to 720h0m0s
env["broken"]: entry 1, "broken", is not a variable: a name is not empty and without =, ` +
		`and neither name nor value contains a zero byte; write NAME=value`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("#\n", MaxFileSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "there is no such file",
		dir:                             "is not a regular file",
		large:                           "is larger than the 1048576 bytes that are allowed",
	} {
		_, err := Load(file)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want one that says %q", file, err, want)
		}
	}
}

// TestFromIsBesideTheFile: not beside whoever reads it.
func TestFromIsBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tandem.yaml")
	for _, from := range []string{"other", other} {
		text := peer + "files: [{path: x, from: " + from + "}]"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(c.Group.Files[0].Content); got != "content" {
			t.Errorf("from %s: content %q", from, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"peer", "peers", 1}, {"preers", "peers", 1},
		{"kitten", "sitting", 3},
		{strings.Repeat("x", 65), "peers", 65}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance of %q and %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// FuzzParse: whatever the file, it is refused with a message or yields a
// configuration that is valid and whose defaults are filled in.
func FuzzParse(f *testing.F) {
	for _, bad := range badFiles {
		f.Add([]byte(bad.text))
	}
	files, _ := filepath.Glob("../examples/*/*.yaml")
	for _, file := range append(files, "example.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, p := range peers.Profiles() {
		text, err := ProfileYAML(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add([]byte("peers: [{profile: " + p.Name + ", name: x, port: 1, directory: directory, program: " +
			"p, arguments: [a]}]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("x.yaml", data, named)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || len(wrong.Problems) == 0 || err.Error() == "" {
				t.Fatalf("not an *Error with problems: %v", err)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but invalid: %v", err)
		}
		if c.Group != nil {
			if err := c.Group.Validate(); err != nil {
				t.Fatalf("accepted, but the group is invalid: %v", err)
			}
		}
	})
}

// TestFaultsKey: the flag and the key take the same words, in every order after the number.
func TestFaultsKey(t *testing.T) {
	want := Faults{2, []string{"reset", "end"}, []string{"read"}, []string{"redis"}, nil, nil, nil, false}
	for _, list := range []string{"2,reset,end,peer=redis,on=read", "2 on=read reset peer=redis end",
		"2, reset, end, on=read, peer=redis"} {
		got, err := ParseFaults(list)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", list, err, diff)
		}
	}
	if got, err := ParseFaults("3"); err != nil || got.Limit != 3 || got.Kinds != nil {
		t.Errorf("3: %+v, %v", got, err)
	}
	if _, err := ParseFaults(" "); err == nil {
		t.Error("a number is not missed")
	}
}
