package check

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
)

// workerOf is a variable of the environment with which the test is a worker of a server.
const workerOf = "TANDEM_TEST_WORKER_OF"

// team are worker processes of a test, which end with it.
type team struct {
	t       *testing.T
	program string
	mu      sync.Mutex
	url     string
	members []*exec.Cmd
}

// join starts a worker.
func (w *team) join() {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := exec.Command(w.program)
	c.Env = append(os.Environ(), workerOf+"="+w.url)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		w.t.Error(err)
		return
	}
	w.members = append(w.members, c)
}

// kill kills a worker that chance picks.
func (w *team) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.members) == 0 {
		return
	}
	i := rand.IntN(len(w.members))
	_ = w.members[i].Process.Kill()
	_ = w.members[i].Wait()
	w.members = append(w.members[:i], w.members[i+1:]...)
}

// hire has so many workers join a check that is led, which tells say what happens. During is called
// when they have joined; nil: nobody is. End ends them.
func hire(t *testing.T, d *Distribution, workers int, during func(w *team, parts func() int)) (
	say func(format string, a ...any), end func()) {
	w := &team{t: t, program: "/proc/self/exe"}
	d.Server, d.Awaited = "embedded", workers
	say = func(format string, a ...any) {
		if !strings.HasPrefix(format, "workers join") {
			t.Logf(format, a...)
			return
		}
		w.url = a[0].(string)
		for range workers {
			w.join()
		}
	}
	var busy sync.WaitGroup
	if during != nil {
		d.Joined = func(parts func() int) { busy.Go(func() { during(w, parts) }) }
	}
	return say, func() {
		busy.Wait()
		for len(w.members) > 0 {
			w.kill()
		}
	}
}

// killing kills a worker whenever another part is done, so that they are at work, up to so many
// times, and has another one join. It counts how many were killed.
func killing(most int, kills *int) func(w *team, parts func() int) {
	return func(w *team, parts func() int) {
		look := time.NewTicker(roundInterval)
		defer look.Stop()
		for last := 0; *kills < most; <-look.C {
			switch now := parts(); {
			case now < 0:
				return
			case now > last:
				last = now
				w.kill()
				w.join()
				*kills++
			}
		}
	}
}

// distributed has a check led by the test, and so many workers join. During is called when they
// have.
func distributed(t *testing.T, o Options, workers int, during func(w *team, parts func() int)) *Result {
	t.Helper()
	say, end := hire(t, &o.Distribution, workers, during)
	defer end()
	o.Distribution.Say, o.haste = say, true
	return check(t, o)
}

// TestDistributed: with workers in other processes a check says what it says without.
func TestDistributed(t *testing.T) {
	classics := buildExample(t, "classics")
	for name, o := range map[string]Options{
		"violated": endings(t, "lock"),
		"large":    {Program: classics, Package: "classics", Args: []string{"lastzero", "9"}},
	} {
		for search, newSearch := range map[string]func() *explore.Search{"dpor": dporSearch,
			"auto": func() *explore.Search {
				return mustSearch(explore.Config{Algorithm: explore.Auto, Seed: 1})
			}} {
			t.Run(name+" "+search, func(t *testing.T) {
				o.Leaks, o.SelfCheck, o.Depth, o.Workers = true, 10, 1000, 1
				o.Search = maxExecutions(newSearch(), 2500)
				want := says(t, check(t, o))
				for _, workers := range []int{2, 1, 4}[:cases(3, 1)] {
					o.Search = maxExecutions(newSearch(), 2500)
					r := distributed(t, o, workers, nil)
					if diff := cmp.Diff(want, says(t, r)); diff != "" {
						t.Errorf("alone (-) and with %d workers (+):\n%s", workers, diff)
					}
					if name == "large" && r.Counts.Ahead == 0 {
						t.Errorf("%d workers have explored nothing", workers)
					}
				}
			})
		}
	}
}

// TestKilledWorkers: workers that are killed cost repetition, and nothing else.
func TestKilledWorkers(t *testing.T) {
	o := Options{Program: buildExample(t, "classics"), Package: "classics", Args: []string{"lastzero", "9"},
		Depth: 1000, Workers: 1}
	o.Search = maxExecutions(dporSearch(), 4000)
	want := says(t, check(t, o))
	o.Search = maxExecutions(dporSearch(), 4000)
	kills := 0
	r := distributed(t, o, 2, killing(cases(20, 3), &kills))
	if t.Logf("%d workers were killed", kills); kills == 0 {
		t.Error("the search ended before a worker was killed")
	}
	if diff := cmp.Diff(want, says(t, r)); diff != "" {
		t.Errorf("alone (-) and with workers that were killed (+):\n%s", diff)
	}
}

// TestOtherBuild: a worker of another build is refused, and says so.
func TestOtherBuild(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, append(data, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	o := endings(t, "lock")
	o.Search, o.Depth, o.Workers = dporSearch(), 1000, 1
	o.Distribution.Server = "embedded"
	var out []byte
	o.Distribution.Say = func(format string, a ...any) {
		if strings.HasPrefix(format, "workers join") {
			c := exec.Command(other)
			c.Env = append(os.Environ(), workerOf+"="+a[0].(string))
			out, err = c.CombinedOutput()
		}
	}
	check(t, o)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "another build of tandem") {
		t.Errorf("a worker of another build ended with %v:\n%s", err, out)
	}
}

// TestNotDistributed: what cannot be distributed is refused before anything is built.
func TestNotDistributed(t *testing.T) {
	here := Distribution{Server: "embedded"}
	for want, r := range map[string]Request{
		"leave it out, or choose": {Search: SearchRequest{Name: "random"}, Distribution: here},
		"or delays": {Search: SearchRequest{Name: "dpor"}, Distribution: here,
			Config: configs.Config{Bounds: configs.Bounds{Delays: new(int)}}},
		"give both": {Distribution: Distribution{Server: "embedded",
			Login: distribute.Login{Key: "file"}}},
		"name it with --distribute": {Distribution: Distribution{
			Login: distribute.Login{Credentials: "file"}}},
	} {
		if _, err := NewJob(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

// isWorker has the test be a worker, if its environment says so; it returns the exit code.
func isWorker() (code int, is bool) {
	url := os.Getenv(workerOf)
	if url == "" {
		return 0, false
	}
	os.Unsetenv(workerOf)
	err := Work(context.Background(), Distribution{Server: url})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1, true
	}
	return 0, true
}

// clocks are times of day, which peers print.
var clocks = regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?`)

// restores are lines that say where peers were restored.
var restores = regexp.MustCompile(`(?m)\n *=== .* restored.*$`)

// saysWithPeers is what a result says, without what peers print of the time, and without where they
// were restored: that depends on who has asked first.
func saysWithPeers(t *testing.T, r *Result) string {
	t.Helper()
	return restores.ReplaceAllString(clocks.ReplaceAllString(says(t, r), ""), "")
}

// TestDistributedPeers: peers are asked where the check is led, and workers get the same answers.
// Dropbear's differ from run to run.
func TestDistributedPeers(t *testing.T) {
	for _, test := range []struct {
		example
		scope   iocache.Scope
		workers []int
		some    bool // workers explore something
	}{
		{httpGet, iocache.Group, []int{1, 4}, true},
		{example{httpGet.pkg, httpGet.config, []string{"-n", "2", "-transport"}}, iocache.Connection,
			[]int{2}, true},
		{scpTo, iocache.Group, []int{2}, true},
		{library, iocache.Connection, []int{2}, true}, // whose peers are clients
		{scpToFixed, iocache.Group, []int{2}, true},
		{keepAlive, iocache.Group, []int{1}, false},
	} {
		t.Run(test.pkg, func(t *testing.T) {
			o := test.options(t)
			o.Scope, o.Leaks, o.SelfCheck, o.Workers, o.Violations = test.scope, true, 10, 1, 5
			newSearch := func() *explore.Search { return maxExecutions(dporSearch(), cases(2000, 300)) }
			o.Search = newSearch()
			alone := check(t, o)
			for _, workers := range test.workers {
				o.Search = newSearch()
				r := distributed(t, o, workers, nil)
				if diff := cmp.Diff(saysWithPeers(t, alone), saysWithPeers(t, r)); diff != "" {
					t.Errorf("alone (-) and with %d workers (+):\n%s", workers, diff)
				}
				if test.some && r.Counts.Ahead == 0 {
					t.Errorf("%d workers have explored nothing", workers)
				}
				// Whoever asks, the peers are asked once for each answer. What is in vain may need
				// more.
				if r.Counts.Misses < alone.Counts.Misses ||
					r.Counts.InVain == 0 && r.Counts.Misses != alone.Counts.Misses {
					t.Errorf("the peers have answered %d inputs; alone %d", r.Counts.Misses,
						alone.Counts.Misses)
				}
			}
		})
	}
}

// TestLetGo: where the answers of the peers cannot be kept for workers any more, these are let go.
// The check goes on by itself, and says so.
func TestLetGo(t *testing.T) {
	o := example{httpGet.pkg, httpGet.config, []string{"-n", "3"}}.options(t)
	o.Workers = 1
	o.Search = maxExecutions(dporSearch(), 40)
	want := saysWithPeers(t, check(t, o))
	said := 0
	say, end := hire(t, &o.Distribution, 2, nil)
	defer end()
	o.Distribution.Answers, o.haste = 8<<10, true
	o.Distribution.Say = func(format string, a ...any) {
		switch {
		case strings.Contains(format, "let go"):
			said++
		case strings.Contains(format, "cannot help"): // they are to help with the next check
			t.Errorf(format, a...)
		}
		say(format, a...)
	}
	o.Search = maxExecutions(dporSearch(), 40)
	r := check(t, o)
	if diff := cmp.Diff(want, saysWithPeers(t, r)); diff != "" {
		t.Errorf("alone (-) and with workers that were let go (+):\n%s", diff)
	}
	notes := strings.Join(r.Notes, "\n")
	if !strings.Contains(notes, "the workers were let go early: keeping the answers of the peers for "+
		"workers: they take more than 0 MiB") || said != 1 {
		t.Errorf("it was said %d times, and in the end: %s", said, notes)
	}
}

// TestKilledWithPeers: workers and peers that are killed cost repetition, and nothing else.
func TestKilledWithPeers(t *testing.T) {
	o := example{httpGet.pkg, httpGet.config, []string{"-n", "3"}}.options(t)
	o.Workers = 1
	o.Search = maxExecutions(dporSearch(), 120)
	want := saysWithPeers(t, check(t, o))
	if err := o.Client.Close(); err != nil { // there is to be one daemon only
		t.Fatal(err)
	}
	o.Client = newClient(t)
	daemon := ownDaemon(t)
	kills, lost := 0, 0
	during := killing(cases(20, 2), &kills)
	say, end := hire(t, &o.Distribution, 2, func(w *team, parts func() int) {
		if killBelow(daemon, "merecat") {
			lost++
		}
		during(w, parts)
		if parts() >= 0 && killBelow(daemon, "merecat") {
			lost++
		}
	})
	o.Distribution.Say, o.haste = say, true
	o.Search = maxExecutions(dporSearch(), 120)
	r, err := Run(t.Context(), o)
	end()
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d workers and %d times the peers were killed", kills, lost); kills == 0 || lost == 0 {
		t.Errorf("the search ended before they were killed")
	}
	if diff := cmp.Diff(want, saysWithPeers(t, r)); diff != "" {
		t.Errorf("alone (-) and with what was killed (+):\n%s", diff)
	}
}
