package check

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/explore"
)

// BenchmarkWorkers is how many executions there are in a second with one worker and with two, which
// take turns, and the ratio. It needs two processors that are idle. What can be expected of two at
// most is the ratio @apart/@1: two checks that have nothing in common, at the same time. Where the
// processors are threads of one core, that is much less than two. All are medians of b.N rounds: a
// processor of which others have a part may be half as fast from one second to the next. What there
// is once (the peers are asked, a bound ends what was begun) counts for little in checks of this
// length: with 50,000 executions of httpget the ratio is a tenth less. A virtual machine knows when
// it was kept waiting for a processor: rounds in which it was do not count, unless that was so in
// all; idle-rounds are those that do.
func BenchmarkWorkers(b *testing.B) {
	classic := func(name, size string, limit int) func(testing.TB) Options {
		return func(t testing.TB) Options {
			return Options{Program: buildExample(t, "classics"), Args: []string{name, size}, Depth: limit}
		}
	}
	for name, test := range map[string]struct {
		options func(testing.TB) Options
		search  func() *explore.Search
	}{
		"lastzero(15)/dpor":   {classic("lastzero", "15", 10_000), dporSearch},
		"filesystem(26)/dpor": {classic("filesystem", "26", 10_000), dporSearch},
		"readers(16)/dpor":    {classic("readers", "16", 10_000), dporSearch},
		"lastzero(4)/dfs": {classic("lastzero", "4", 10_000), func() *explore.Search {
			return maxExecutions(dfsSearch(), 600_000)
		}},
		"filesystem/random": {classic("filesystem", "19", 10_000), func() *explore.Search {
			return randomSearch(40_000, 1)
		}},
		"httpget/dfs, peers": {httpGet.options, func() *explore.Search {
			return maxExecutions(dfsSearch(), 200_000)
		}},
	} {
		b.Run(name, func(b *testing.B) {
			ballast := make([]byte, 32<<20) // as tandem has,
			defer runtime.KeepAlive(ballast)
			defer debug.SetGCPercent(debug.SetGCPercent(400))                       // as it does,
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)) // as this
			run := func(workers int) (rate float64, executions int) {
				o := test.options(b)
				o.Workers, o.Search = workers, test.search()
				result := check(b, o)
				executions = result.Verdict.Executions
				return float64(executions) / result.Counts.Elapsed.Seconds(), executions
			}
			if os.Getenv(inAnother) != "" {
				answerOther(b, func() float64 { rate, _ := run(1); return rate })
				return
			}
			others := []*other{startOther(b, 0), startOther(b, 1)}
			executions, all := 0, []round{}
			for b.Loop() {
				before := processorTime(b)
				one, n := run(1)
				two, _ := run(2)
				apart := askOthers(b, others)
				executions = n
				all = append(all, round{one, two, apart, processorTime(b).since(before).stolen()})
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(executions), "executions")
			reportRounds(b, all)
		})
	}
}

// round is how many executions there were in a second, and the part of the processors' time that
// was stolen.
type round struct{ one, two, apart, stolen float64 }

func reportRounds(b *testing.B, all []round) {
	const most = 0.01
	idle := slices.DeleteFunc(slices.Clone(all), func(r round) bool { return r.stolen > most })
	b.ReportMetric(float64(len(idle)), "idle-rounds")
	if len(idle) == 0 {
		idle = all
	}
	for unit, figure := range map[string]func(round) float64{
		"executions/s@1":     func(r round) float64 { return r.one },
		"executions/s@2":     func(r round) float64 { return r.two },
		"executions/s@apart": func(r round) float64 { return r.apart },
		"@2/@1":              func(r round) float64 { return r.two / r.one },
		"@apart/@1":          func(r round) float64 { return r.apart / r.one },
		"@2/@apart":          func(r round) float64 { return r.two / r.apart },
	} {
		of := make([]float64, len(idle))
		for i, r := range idle {
			of[i] = figure(r)
		}
		slices.Sort(of)
		b.ReportMetric((of[(len(of)-1)/2]+of[len(of)/2])/2, unit)
	}
}

// ticks is the time of all processors by what they did, as proc(5) has it for /proc/stat.
type ticks [8]int64

// processorTime is that since the machine was started.
func processorTime(b *testing.B) (t ticks) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &t[0], &t[1], &t[2], &t[3], &t[4],
		&t[5], &t[6], &t[7]); err != nil {
		b.Fatalf("/proc/stat begins with %.80q: %v", text, err)
	}
	return t
}

func (t ticks) since(before ticks) ticks {
	for i := range t {
		t[i] -= before[i]
	}
	return t
}

// stolen is the part in which there was something to do but no processor of the machine below to do
// it.
func (t ticks) stolen() float64 {
	total := int64(0)
	for _, n := range t {
		total += n
	}
	return float64(t[7]) / float64(total)
}

// inAnother is set in the environment of another process that runs the same benchmark.
const inAnother = "TANDEM_BENCHMARK_IN_ANOTHER"

// other is a process, on one processor, that checks when it is told to.
type other struct {
	tell   *os.File
	answer *bufio.Reader
}

// startOther starts one, and waits until it is ready.
func startOther(b *testing.B, processor int) *other {
	in, tell, err1 := os.Pipe()
	answer, out, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	var pattern []string
	for part := range strings.SplitSeq(b.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.benchtime=1x",
		"-test.bench="+strings.Join(pattern, "/"))
	cmd.Env = append(os.Environ(), inAnother+"=1")
	cmd.Stdin, cmd.ExtraFiles = in, []*os.File{out}
	if err := startOn(cmd, processor); err != nil {
		b.Fatal(err)
	}
	in.Close()
	out.Close()
	o := &other{tell: tell, answer: bufio.NewReader(answer)}
	b.Cleanup(func() {
		tell.Close() // which ends it
		if err := cmd.Wait(); err != nil {
			b.Error("the check in another process:", err)
		}
		answer.Close()
	})
	if line, err := o.answer.ReadString('\n'); err != nil {
		b.Fatalf("another process did not get ready: %q, %v", line, err)
	}
	return o
}

// startOn starts a command that may use one processor only.
func startOn(cmd *exec.Cmd, processor int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(processor)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &before)
	return cmd.Start()
}

// askOthers has all check at the same time, and returns the sum of their rates.
func askOthers(b *testing.B, others []*other) (sum float64) {
	for _, o := range others {
		if _, err := fmt.Fprintln(o.tell, "go"); err != nil {
			b.Fatal(err)
		}
	}
	for _, o := range others {
		var rate float64
		if _, err := fmt.Fscanln(o.answer, &rate); err != nil {
			b.Fatal("what another process answers:", err)
		}
		sum += rate
	}
	return sum
}

// answerOther is the other process.
func answerOther(b *testing.B, rate func() float64) {
	const answers = 3
	rate() // what is built is built now
	answer := os.NewFile(answers, "answers")
	fmt.Fprintln(answer, "ready")
	for ask := bufio.NewScanner(os.Stdin); ask.Scan(); {
		fmt.Fprintln(answer, rate())
	}
	b.ReportMetric(0, "ns/op")
}
