package check

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/sys/awake"
	"github.com/tandem-mc/tandem/internal/testkit/chromium"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

var deep = flag.Bool("deep", false, "run more cases, as `make deep` does")

// cases is how many cases a test runs: all of them in make deep, else a part.
func cases(all, part int) int {
	if *deep {
		return all
	}
	return part
}

// tree holds the examples and, below bin, what is built of them and of the daemon, laid out as the
// configurations expect it.
var tree string

// chrome is the browser of all tests that look at pages.
var chrome chromium.Browser

func TestMain(m *testing.M) {
	if code, is := isWorker(); is {
		os.Exit(code)
	}
	flag.Parse()
	awake.Keep()
	var err error
	tree, err = makeTree()
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = chrome.Run(m)
	}
	os.RemoveAll(tree)
	os.Exit(code)
}

func makeTree() (string, error) {
	dir, err := os.MkdirTemp("", "tandem-check-test-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../examples")); err != nil {
		return dir, err
	}
	for name, pkg := range map[string]string{
		"tandem-ckptd": "../cmd/ckptd", "tandem-proxy": "../cmd/proxy",
		"alphabet-server": "../examples/alphabet/server", "alphabet-client": "../examples/alphabet",
		"scpto-server": "../examples/scpto/server",
	} {
		cmd := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(dir, "bin", name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	return dir, nil
}

// example is an example program with its configuration.
type example struct {
	pkg    string // below examples
	config string // below examples
	args   []string
}

var (
	alphabet       = example{"alphabet", "alphabet/tandem.yaml", nil}
	randomAlphabet = example{"alphabet", "alphabet/random.yaml", nil}
	httpGet        = example{"httpget", "httpget/tandem.yaml", nil}
	keepAlive      = example{"keepalive", "keepalive/tandem.yaml", nil}
	scpTo          = example{"scpto", "scpto/tandem.yaml", nil}
	twoCommands    = example{"twocommands", "twocommands/tandem.yaml", nil}
	scpToFixed     = example{"scpto/fixed", "scpto/tandem.yaml", nil}
)

func (e example) String() string { return e.config }

// options prepares the check of an example, with a daemon of its own.
func (e example) options(t testing.TB) Options {
	t.Helper()
	config, err := configs.Load(filepath.Join(tree, "examples", e.config))
	if err != nil {
		t.Fatal(err)
	}
	s, err := strategy.ByName(config.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Program: buildExample(t, e.pkg), Package: e.pkg, Args: config.Args, Env: config.Env,
		World: config.World, Search: dporSearch(), Depth: 100_000,
		PeerOptions: PeerOptions{
			Strategy: s, StrategyName: config.Strategy, Group: config.Group, Client: newClient(t)},
	}
	if e.args != nil {
		o.Args = e.args
	}
	return o
}

// built keeps the programs of the examples: each is built once.
var built = map[string]*sut.Program{}

func buildExample(t testing.TB, pkg string) *sut.Program {
	t.Helper()
	if p := built[pkg]; p != nil {
		return p
	}
	p, err := buildProgram("../examples/"+pkg, filepath.Join(tree, "program", pkg))
	if err != nil {
		t.Fatal(err)
	}
	built[pkg] = p
	return p
}

var newToolchain = sync.OnceValues(func() (*sut.Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return sut.NewToolchain(context.Background(), ".", filepath.Join(cache, "tandem"))
})

func buildProgram(pkg, output string, races ...string) (*sut.Program, error) {
	toolchain, err := newToolchain()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return nil, err
	}
	return toolchain.Build(context.Background(),
		sut.BuildOptions{Dir: ".", Package: "./" + pkg, Output: output + ".sut", Races: races})
}

// newClient starts a daemon. It compares restored groups with their images only in make deep: the
// tests of ckptd always do.
func newClient(t testing.TB) *ckptd.Client {
	return spawn(t, ckptd.Options{Backend: ckptd.BackendAuto, Verify: *deep})
}

// newClientBy starts a daemon that compares them.
func newClientBy(t testing.TB, backend string) *ckptd.Client {
	_, isTest := t.(*testing.T) // benchmarks measure what users have
	return spawn(t, ckptd.Options{Backend: backend, Verify: isTest})
}

// spawn starts a daemon.
func spawn(t testing.TB, o ckptd.Options) *ckptd.Client {
	t.Helper()
	o.Daemon, o.Proxy = filepath.Join(tree, "bin/tandem-ckptd"), filepath.Join(tree, "bin/tandem-proxy")
	client, err := ckptd.Spawn(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// check runs a check; it fails the test on an error.
func check(t testing.TB, o Options) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := result.Counts.Killed; n > 0 {
		t.Errorf("the peers were lost %d times, though nobody has killed them", n)
	}
	total, violations := 0, 0
	for outcome, n := range result.Outcomes {
		if total += n; outcome.Violation() {
			violations += n
		}
	}
	if v := result.Verdict; !o.resumes() && (total != v.Executions || violations != v.Violations) {
		t.Errorf("the outcomes %v are those of %d executions, %d of them violations; there were %d, and %d "+
			"violations",
			result.Outcomes, total, violations, v.Executions, v.Violations)
	}
	return result
}

// seeing is an Options.observe without errors.
func seeing(see func(explore.Execution)) func(explore.Execution) error {
	return func(x explore.Execution) error {
		see(x)
		return nil
	}
}

// observer is a search that shows every execution to a function.
type observer struct {
	*explore.Search
	see func(explore.Execution)
}

func (o observer) Report(x explore.Execution) error {
	o.see(x)
	return o.Search.Report(x)
}

// eachExecution runs the executions of a search in a worker of their own, to its end or until
// visit, which is shown each of them before the search is, returns false.
func eachExecution(p *sut.Program, o sut.Options, s stepper, visit func(*sut.Log, explore.Execution) bool) (
	ended bool, err error) {
	return eachExecutionWith(func() sut.Peers { return nil }, p, o, s, visit)
}

// eachExecutionWith does so with peers that are made anew for each of them.
func eachExecutionWith(newPeers func() sut.Peers, p *sut.Program, o sut.Options, s stepper,
	visit func(*sut.Log, explore.Execution) bool) (ended bool, err error) {
	w, err := sut.Start(p, o)
	if err != nil {
		return false, err
	}
	defer w.Close()
	var translator translate.Translator
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		log, err := w.Run(translator.Schedule(schedule), newPeers())
		if err != nil {
			return false, err
		}
		x, err := translator.Log(log, translate.SourceOf(w))
		if err != nil {
			return false, err
		}
		if !visit(log, x) {
			return false, nil
		}
		if err := s.Report(x); err != nil {
			return false, err
		}
	}
	return true, nil
}

// shows requires a counterexample that says each part, and that replays so often without the peers
// once it was saved and loaded.
func shows(t *testing.T, program *sut.Program, result *Result, replays int, parts ...string) {
	t.Helper()
	if result.Counterexample == nil {
		t.Fatalf("no counterexample: %v", result.Verdict)
	}
	var shown bytes.Buffer
	options := report.Options{Unfold: true, Verbose: true}
	if err := text.Write(&shown, result.Counterexample, options); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("the counterexample does not say %q:\n%s", part, &shown)
		}
	}
	file := filepath.Join(t.TempDir(), "saved.counterexample")
	if err := report.Save(file, result.Recording); err != nil {
		t.Fatal(err)
	}
	recording, err := report.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(program, recording, replays); err != nil {
		t.Error(err)
	}
}

// never is a run.enough: the search goes on when a violation is found.
func never(explore.Verdict) string { return "" }
