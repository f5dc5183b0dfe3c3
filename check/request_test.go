package check

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/fingerprint"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

func someRequest() Request {
	return Request{Package: "./x", Config: configs.Default(), Search: SearchRequest{Name: "dpor"},
		Isolation: "snapshot"}
}

// TestNewJob: names become objects.
func TestNewJob(t *testing.T) {
	r := someRequest()
	r.Args, r.Isolation, r.Shrink, r.Violations = []string{"-n", "2"}, "fork", 7, 3
	r.Config.Args = []string{"of the file"}
	r.Config.Scope, r.Config.Strategy, r.Config.PeerPatience = "auto", "never", 0
	r.Config.CacheMib, r.Config.CheckpointMib, r.Config.Workers = 2, 32, 5
	r.Config.Date = time.Unix(1_800_000_000, 0)
	r.Config.Masks = []configs.Mask{{Peer: "web", Pattern: "Date: .*"}, {Pattern: "id=[0-9]+"}}
	r.Config.Group = &peers.Group{Peers: []peers.Peer{{Name: "web", Command: []string{"w"},
		Listen: "127.0.0.1:80 [::1]:80"}}}
	j, err := NewJob(r)
	if err != nil {
		t.Fatal(err)
	}
	o := j.options
	if !cmp.Equal(o.Args, r.Args) || o.Isolation != sut.Fork || o.Shrink != 7 || o.Violations != 3 ||
		j.Workers() != 5 {
		t.Errorf("what is taken over is not: %+v", o)
	}
	if !o.Audited || o.Scope != iocache.Connection || o.StrategyName != "never" || o.Strategy == nil {
		t.Errorf("scope auto with strategy never is %v, %v, %s", o.Audited, o.Scope, o.StrategyName)
	}
	if o.PeerPatience >= 0 {
		t.Errorf("no patience is %v, which would be the default", o.PeerPatience)
	}
	if o.CacheBytes != 2<<20 || o.CheckpointBytes != 32<<20 || o.World.Start != 1_800_000_000 {
		t.Errorf("%d, %d, %d", o.CacheBytes, o.CheckpointBytes, o.World.Start)
	}
	var masks []string
	for _, m := range o.Masks {
		masks = append(masks, m.Addr+" "+m.Pattern.String())
	}
	want := []string{"127.0.0.1:80 Date: .*", "[::1]:80 Date: .*", " id=[0-9]+"}
	if d := cmp.Diff(want, masks); d != "" {
		t.Errorf("masks (-want +got)\n%s", d)
	}
	if o.Search == nil || o.Again() == nil || o.Again() == o.Search {
		t.Error("a search that starts over is not another one")
	}
}

func TestNewJobRefuses(t *testing.T) {
	for want, change := range map[string]func(*Request){
		"--search bfs: there is no such search": func(r *Request) {
			r.Search.Name = "bfs"
		},
		"--pct-depth 0 is not allowed": func(r *Request) {
			r.Search = SearchRequest{Name: "pct"}
		},
		"--isolation none: there is no such isolation": func(r *Request) { r.Isolation = "none" },
		`there is no checkpoint strategy "often"`: func(r *Request) {
			r.Config.Strategy = "often"
		},
		"the run cannot go on: since it began, this has changed:\n": func(r *Request) {
			r.Resume = &SavedCheck{asked: &savedRequest{}}
		},
	} {
		r := someRequest()
		change(&r)
		if _, err := NewJob(r); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestUsefulWorkers(t *testing.T) {
	if n := usefulWorkers(configs.Config{Group: &peers.Group{}}); n != 1 {
		t.Errorf("%d workers would have one group of peers go back and forth", n)
	}
	// A container may use fewer processors than there are.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	if n := usefulWorkers(configs.Config{}); n != 3 {
		t.Errorf("%d workers, where 3 processors may be used", n)
	}
}

func TestAssumedOfBounds(t *testing.T) {
	two, three := 2, 3
	for want, c := range map[string]struct {
		search string
		bounds configs.Bounds
	}{
		"":                                       {"dpor", configs.Bounds{}},
		"preemptions in an execution: at most 2": {"dpor", configs.Bounds{Preemptions: &two}},
		"delays in an execution: at most 3":      {"dfs", configs.Bounds{Delays: &three}},
		"preemptions in an execution: at most 2; delays in an execution: at most 3 " +
			"(dfs instead of dpor: within a bound on delays every schedule is run)": {
			"dpor", configs.Bounds{Preemptions: &two, Delays: &three},
		},
	} {
		if got := strings.Join(SearchRequest{Name: c.search}.assumed(c.bounds), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRaised: a bound that has ended a search is raised tenfold, as far as that is allowed.
func TestRaised(t *testing.T) {
	b := configs.Bounds{Executions: 100, Time: time.Minute}
	for _, c := range []struct {
		executions int
		elapsed    time.Duration
		bounds     configs.Bounds
		want       string
	}{
		{99, time.Second, b, ""},
		{100, time.Second, b, " --executions 1000"},
		{99, time.Minute, b, " --time 10m0s"},
		{configs.MaxExecutions / 2, 0, configs.Bounds{Executions: configs.MaxExecutions / 2,
			Time: time.Minute},
			fmt.Sprint(" --executions ", configs.MaxExecutions)},
		{configs.MaxExecutions, 0, configs.Bounds{Executions: configs.MaxExecutions, Time: time.Minute}, ""},
	} {
		r := &Result{}
		r.Verdict.Executions, r.Counts.Elapsed = c.executions, c.elapsed
		if got := raised(c.bounds, r); got != c.want {
			t.Errorf("%d executions in %v: %q, want %q", c.executions, c.elapsed, got, c.want)
		}
	}
}

// TestUnchanged: a run goes on only with what it began with, but for what may change.
func TestUnchanged(t *testing.T) {
	r := someRequest()
	r.Flags = map[string][]string{"strategy": {"never"}}
	began, err := r.describe()
	if err != nil {
		t.Fatal(err)
	}
	if began.Flags["date"] == nil || began.Flags["strategy"] == nil || began.Tandem == "" || began.Dir == "" {
		t.Errorf("it is described as %+v", began)
	}
	text, err := json.Marshal(began)
	if err != nil {
		t.Fatal(err)
	}
	saved := &savedRequest{}
	if err := json.Unmarshal(text, saved); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*configs.Config)
		want   string // empty: it may change
	}{
		{func(*configs.Config) {}, ""},
		{func(c *configs.Config) { c.Bounds.Executions, c.Bounds.Time = 5, time.Second }, ""},
		{func(c *configs.Config) { c.Workers, c.Backend, c.SaveInterval = 9, "criu", 0 }, ""},
		{func(c *configs.Config) { c.CacheMib, c.CheckpointMib = 9, 99 }, ""},
		{func(c *configs.Config) { c.Strategy = "never" }, `strategy: it was "after-io", and is "never"`},
		{func(c *configs.Config) { c.Bounds.Depth = 7 }, "bounds.depth: it was 10000, and is 7"},
		{func(c *configs.Config) { c.World.Faults = 1 }, "faults: it was not there, and is 1"},
	} {
		next := r
		c.change(&next.Config)
		now, err := next.describe()
		if err != nil {
			t.Fatal(err)
		}
		err = saved.unchanged(now)
		if (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), "\n  "+c.want+"\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	now := *saved
	now.Tandem = "another"
	if err := saved.unchanged(&now); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("another build of tandem: %v", err)
	}
}

// TestKeptPeers: a kept cache is for the peers that have filled it.
func TestKeptPeers(t *testing.T) {
	config := configs.Default()
	config.Date = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	config.Group = &peers.Group{Peers: []peers.Peer{{Name: "a", Command: []string{"sh"},
		Listen: "127.0.0.1:80"}}}
	d, err := fingerprint.DescribePeers(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Same(string(text)); err != nil {
		t.Errorf("the same peers: %v", err)
	}
	config.Date = config.Date.AddDate(0, 0, 1)
	config.PeerPatience = time.Second
	config.Group.Peers[0].Listen = "127.0.0.1:81"
	later, err := fingerprint.DescribePeers(config)
	if err != nil {
		t.Fatal(err)
	}
	err = later.Same(string(text))
	for _, want := range []string{
		"date: it was 2026-01-31T00:00:00Z, and is 2026-02-01T00:00:00Z",
		`peers[0].listen: it was "127.0.0.1:80", and is "127.0.0.1:81"`,
		"peer_patience: it was 5s, and is 1s",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, wrong := range []string{"", "x", "{}", "[1]"} {
		if err := d.Same(wrong); err == nil || !strings.Contains(err.Error(), "no cache that was kept") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestStartDate: the configuration comes first, then the kept cache, then the end of this day.
func TestStartDate(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	kept := filepath.Join(t.TempDir(), "cache")
	description := `{"peers":{},"programs":{},"date":"2026-01-31T00:00:00Z"}`
	k, err := saved.OpenAnswerFile(kept, description, nil, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
	own := configs.Config{Date: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		config configs.Config
		cache  string
		want   string
	}{
		{own, kept, "2025-01-01"},
		{configs.Config{}, kept, "2026-01-31"},
		{configs.Config{}, "", "2026-05-05"},
		{configs.Config{}, kept + ".missing", "2026-05-05"},
	} {
		if got := StartDate(c.config, c.cache, now).Format(time.DateOnly); got != c.want {
			t.Errorf("%v, %q: %s, want %s", c.config.Date, c.cache, got, c.want)
		}
	}
}

func TestShortNames(t *testing.T) {
	list := []sut.Package{{ImportPath: "m/a/q"}, {ImportPath: "m/b/q"}, {ImportPath: "m/r"},
		{ImportPath: "q"}}
	for path, want := range map[string]string{"m/a/q": "a/q", "m/b/q": "b/q", "m/r": "r", "q": "q"} {
		if got := shortName(path, list); got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
	}
}

// TestCacheAsText: a file of a cache comes back from its text, and wrong texts name the line.
func TestCacheAsText(t *testing.T) {
	entry, err := iocache.ParseText(`0 connect 0 "127.0.0.1:80" => nothing`)
	if err != nil {
		t.Fatal(err)
	}
	file := iocache.AppendEntry(iocache.AppendHeader(nil, "a \x1b description"), entry)
	var text, back strings.Builder
	if err := CacheToText(&text, strings.NewReader(string(file))); err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`[^ -~\n]`).MatchString(text.String()) || strings.Count(text.String(), "\n") != 2 {
		t.Errorf("the text is %q", text.String())
	}
	if err := CacheFromText(&back, strings.NewReader(text.String())); err != nil ||
		back.String() != string(file) {
		t.Errorf("%q came back as %q, %v", file, back.String(), err)
	}
	for wrong, want := range map[string]string{
		"":                     "line 1: this is no description",
		"no quotes\n":          "line 1: this is no description",
		"\"x\"\nnonsense\n":    "line 2: ",
		text.String() + "more": "line 3: ",
	} {
		if err := CacheFromText(&strings.Builder{}, strings.NewReader(wrong)); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", wrong, err, want)
		}
	}
	if err := CacheToText(&text, strings.NewReader("no cache")); err == nil {
		t.Error("what is no cache is shown")
	}
}

// FuzzDescriptions reads arbitrary descriptions of saved runs and kept caches. They are of other
// peers and another run than this, whatever they say.
func FuzzDescriptions(f *testing.F) {
	for _, text := range []string{
		"", "{}", "[]", `{"peers":{"a":"1"},"programs":{},"date":"x"}`,
		`{"config":{"strategy":"1"},"flags":{"a":["b"]}}`,
		`{"tandem":"x","peers":{"y":"z"}}`, strings.Repeat("[", 100),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		now := &fingerprint.Peers{Programs: map[string]string{"a\x00": "b"}, Date: "2026-01-31"}
		if err := now.Same(text); err == nil {
			t.Errorf("%q is of the same peers", text)
		}
		saved := &savedRequest{}
		if json.Unmarshal([]byte(text), saved) != nil {
			return
		}
		if err := saved.unchanged(&savedRequest{Tandem: "\xff"}); err == nil {
			t.Errorf("%q began this run", text)
		}
	})
}

// TestSearches: each name that is listed makes a search.
func TestSearches(t *testing.T) {
	for _, name := range Searches() {
		q := SearchRequest{Name: name, PCTDepth: 3}
		if _, err := q.newSearch(configs.Default().Bounds, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
