package sut_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

func TestOutcomes(t *testing.T) {
	tests := []struct {
		scenario string
		want     sut.Outcome
		says     string // part of the output or the message
	}{
		{"panic", sut.Panicked, "panic: at the disco"},
		{"panic", sut.Panicked, "main.dance(_, {_, _})"}, // where these were there is anything
		{"nil", sut.Panicked, "nil pointer dereference"},
		{"stopwatch", sut.Refused, "a loop that only looks at the clock"},
		{"verbose", sut.Panicked, "panic: at the end"},
		{"exit", sut.Exited, ""},
		{"assert", sut.AssertionFailed, "one is small"},
		{"fatal", sut.Fatal, "unlock of unlocked mutex"},
		{"choose", sut.Completed, "0 0"},
		{"timers", sut.Completed, "tick 20m0s after 30m0s tick 40m0s tick 1h0m0s tick 1h20m0s true " +
			"2026-01-01T00:00:00Z"},
		{"select", sut.Completed, "b default"},
		{"primitives", sut.Completed, "13 3 true true"},
		{"threads", sut.Completed, "one thread"},
		{"output", sut.Completed, "to stdout\nto stderr"},
		{"environment", sut.Completed, "[x y]  /nonexistent 1000 9"},
		{"goroutines", sut.OtherLimit, "more than 4096 goroutines"},
		{"endless", sut.StepLimit, ""},
		{"files", sut.Completed, "as it was"},
		{"one file", sut.Completed, ""},
		{"surroundings", sut.Completed, "tandem 999 1000 true <nil> program true 0 true UTC\n"},
		{"overflow", sut.Fatal, "stack overflow"},
		{"device", sut.Refused, "ptmx, a device"},
		{"process", sut.Refused, "/proc/stat, which differs from run to run"},
		{"subprocess", sut.Refused, "starting a subprocess"},
		{"raw", sut.Refused, "a socket of another kind"},
		{"ping", sut.Refused, "a socket of another kind"},
	}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		for _, test := range tests {
			t.Run(fmt.Sprint(isolation, "/", test.scenario), func(t *testing.T) {
				w := start(t, isolation, test.scenario, "x", "y")
				for i := range 3 { // the second and third time nothing must be left of the first
					log := run(t, w, sut.Schedule{Steps: 50_000}, nil)
					said := string(log.Stdout) + string(log.Stderr) + log.Message
					if log.Outcome != test.want || !strings.Contains(said, test.says) {
						t.Fatalf("run %d: %v, want %v; it said %q, want %q", i, log.Outcome, test.want,
							said, test.says)
					}
				}
			})
		}
	}
}

// TestEstimates: a transition has at most one estimate, the last one, and none if that is what was
// said before. So a loop that estimates does not fill the log.
func TestEstimates(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := start(t, isolation, "estimate")
		for range 2 {
			var said []int64
			for _, e := range run(t, w, sut.Schedule{}, nil).Events {
				if e.Kind == sut.Estimated {
					said = append(said, e.Estimate())
				}
			}
			if !slices.Equal(said, []int64{7, -999_999}) {
				t.Errorf("%v: the estimates are %v", isolation, said)
			}
		}
	}
}

// TestStackOverflow is that of a stack of 1 GiB, the most that there is by default.
func TestStackOverflow(t *testing.T) {
	log := run(t, start(t, sut.Snapshot, "overflow all"), sut.Schedule{}, nil)
	if log.Outcome != sut.Fatal || !strings.Contains(string(log.Stderr), "stack overflow") {
		t.Errorf("%v: %s", log.Outcome, log.Stderr)
	}
}

func TestExitCode(t *testing.T) {
	if log := run(t, start(t, sut.Snapshot, "exit"), sut.Schedule{}, nil); log.ExitCode != 3 {
		t.Errorf("the exit code is %d, want 3", log.ExitCode)
	}
}

func TestRefusalNamesTheLine(t *testing.T) {
	log := run(t, start(t, sut.Snapshot, "subprocess"), sut.Schedule{}, nil)
	for _, pc := range log.Stack {
		if at, ok := program.Position(pc); ok && program.IsOwn(at) {
			if !strings.HasSuffix(at.File, "testdata/program/main.go") {
				t.Errorf("refused at %v, want testdata/program/main.go", at)
			}
			return
		}
	}
	t.Errorf("no call in the program's own code among the %d of the refusal", len(log.Stack))
}

// TestSchedules explores all schedules of a program that loses an update, by
// hand: both results must be reached, and every schedule can be repeated.
func TestSchedules(t *testing.T) {
	w := start(t, sut.Snapshot, "counter")
	results := map[string]int{}
	for seed := range uint64(200) {
		log := run(t, w, sut.Schedule{Seed: seed + 1}, nil)
		results[string(log.Stdout)]++
		prefix := choices(log.Events)
		events := slices.Clone(log.Events)
		again := run(t, w, sut.Schedule{Prefix: prefix}, nil)
		if diff := cmp.Diff(events, again.Events); diff != "" {
			t.Fatalf("the schedule of seed %d, repeated, gives another log:\n%s", seed+1, diff)
		}
	}
	if results["1"] == 0 || results["2"] == 0 || len(results) != 2 {
		t.Errorf("results %v, want some of 1 and some of 2", results)
	}
}

func choices(events []sut.Event) []model.Action {
	var list []model.Action
	for _, e := range events {
		if e.Kind == sut.Stepped {
			list = append(list, model.Action{Goroutine: model.GoroutineID(e.Subject), Choice: int(e.Number)})
		}
	}
	return list
}

func TestDeadlockDependsOnTheSchedule(t *testing.T) {
	w := start(t, sut.Snapshot, "deadlock")
	outcomes := map[sut.Outcome]int{}
	for seed := range uint64(100) {
		outcomes[run(t, w, sut.Schedule{Seed: seed + 1}, nil).Outcome]++
	}
	if outcomes[sut.Deadlock] == 0 || outcomes[sut.Completed] == 0 || len(outcomes) != 2 {
		t.Errorf("outcomes %v, want some deadlocks and some completed", outcomes)
	}
}

func TestChoicesAreExplored(t *testing.T) {
	w := start(t, sut.Snapshot, "choose")
	var got []string
	for first := range 3 {
		for second := range 2 {
			log := run(t, w, sut.Schedule{Prefix: []model.Action{
				{Goroutine: 1}, {Goroutine: 1, Choice: first}, {Goroutine: 1}, {Goroutine: 1, Choice: second},
			}}, nil)
			got = append(got, string(log.Stdout))
		}
	}
	want := []string{"0 0", "0 1", "1 0", "1 1", "2 0", "2 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSelectArms(t *testing.T) {
	w := start(t, sut.Snapshot, "select")
	log := run(t, w, sut.Schedule{}, nil)
	prefix := choices(log.Events)
	arm := slices.IndexFunc(log.Events, func(e sut.Event) bool { return e.Choices == 3 })
	if arm < 0 {
		t.Fatal("no step with three alternatives, though three arms are ready")
	}
	at := 0
	for _, e := range log.Events[:arm] {
		if e.Kind == sut.Stepped {
			at++
		}
	}
	for i, want := range []string{"b default", "c default", "a default"} {
		p := append(slices.Clone(prefix[:at]), model.Action{Goroutine: 1, Choice: i})
		// Arms count in the order in which the compiler lays them out: the sends, then
		// the receives from the last to the first.
		if got := string(run(t, w, sut.Schedule{Prefix: p}, nil).Stdout); got != want {
			t.Errorf("alternative %d gives %q, want %q", i, got, want)
		}
	}
}

func TestImpossibleScheduleDiverges(t *testing.T) {
	w := start(t, sut.Snapshot, "counter")
	log := run(t, w, sut.Schedule{Prefix: []model.Action{{Goroutine: 1}, {Goroutine: 4711}}}, nil)
	if log.Outcome != sut.Diverged || log.Position != 1 {
		t.Errorf("%v at %d, want diverged at 1", log.Outcome, log.Position)
	}
	nobody := []model.Action{{Goroutine: 4711}}
	if log := run(t, w, sut.Schedule{Prefix: nobody}, nil); log.Outcome != sut.Diverged {
		t.Errorf("%v, want diverged", log.Outcome)
	}
}

// TestSleep: what sleeps is not picked before something that conflicts with it.
func TestSleep(t *testing.T) {
	w := start(t, sut.Snapshot, "counter")
	prefix, both, object := untilBothCanRun(t, run(t, w, sut.Schedule{WantEnabled: true}, nil))
	sleep := func(c model.Action, accesses ...model.Access) sut.Sleeper {
		return sut.Sleeper{Action: c, Accesses: accesses}
	}
	tests := []struct {
		name  string
		sleep []sut.Sleeper
		want  sut.Outcome
		first model.GoroutineID // the goroutine that runs next
	}{
		{"nobody", nil, sut.Completed, both[0].Goroutine},
		{"everybody", []sut.Sleeper{sleep(both[0]), sleep(both[1])}, sut.Redundant, 0},
		{"the first, for good", []sut.Sleeper{sleep(both[0])}, sut.Redundant, both[1].Goroutine},
		{"the first, until the second conflicts",
			[]sut.Sleeper{sleep(both[0], model.Access{Object: object, Kind: model.Write})}, sut.Completed,
			both[1].Goroutine},
		{"the first, which reads, until the second writes",
			[]sut.Sleeper{sleep(both[0], model.Access{Object: object, Kind: model.Read})}, sut.Completed,
			both[1].Goroutine},
		{"the first, until somebody uses another object",
			[]sut.Sleeper{sleep(both[0], model.Access{Object: object + 1, Kind: model.Write})},
			sut.Redundant, both[1].Goroutine},
		{"another alternative of the first",
			[]sut.Sleeper{sleep(model.Action{Goroutine: both[0].Goroutine, Choice: 1})}, sut.Completed,
			both[0].Goroutine},
	}
	for _, test := range tests {
		log := run(t, w, sut.Schedule{Prefix: prefix, Sleep: test.sleep, SleepFrom: len(prefix) - 1}, nil)
		taken := choices(log.Events)
		first := model.GoroutineID(0)
		if len(taken) > len(prefix) {
			first = taken[len(prefix)].Goroutine
		}
		if log.Outcome != test.want || first != test.first {
			t.Errorf("%s sleeps: %v, goroutine %x runs next; want %v and %x", test.name, log.Outcome, first,
				test.want, test.first)
		}
	}
}

// waiting reports whether main waits and the two others can run.
func waiting(enabled []model.Action) bool {
	return len(enabled) == 2 && enabled[0].Goroutine != 1
}

// untilBothCanRun returns the choices up to where two goroutines can be picked,
// what they could be picked for, and the variable that both use.
func untilBothCanRun(t *testing.T, log *sut.Log) (prefix, both []model.Action, object model.ObjectID) {
	t.Helper()
	for _, e := range log.Events {
		switch {
		case e.Kind == sut.Accessed && e.Operation == sut.AtomicLoad:
			return prefix, both, model.ObjectID(e.Subject)
		case e.Kind == sut.Enabled && !waiting(both):
			both = append(both, model.Action{Goroutine: model.GoroutineID(e.Subject)})
		case e.Kind == sut.Stepped && !waiting(both):
			taken := model.Action{Goroutine: model.GoroutineID(e.Subject), Choice: int(e.Number)}
			prefix, both = append(prefix, taken), nil
		}
	}
	t.Fatal("there is no state in which two goroutines can run")
	return nil, nil, 0
}

func TestStepLimit(t *testing.T) {
	w := start(t, sut.Snapshot, "endless")
	log := run(t, w, sut.Schedule{Steps: 100}, nil)
	if log.Outcome != sut.StepLimit || len(choices(log.Events)) != 100 {
		t.Errorf("%v after %d steps, want the step limit after 100", log.Outcome, len(choices(log.Events)))
	}
}

func TestHungProgramIsEnded(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"spin"}, HangTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Run(sut.Schedule{}, nil); err == nil ||
		!strings.Contains(err.Error(), "without a visible operation") {
		t.Errorf("error %v, want one that says what the program does", err)
	}
}

func TestKilledWorker(t *testing.T) {
	w := start(t, sut.Snapshot, "counter")
	if err := syscall.Kill(w.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(sut.Schedule{}, nil); err == nil ||
		!strings.Contains(err.Error(), "ended unexpectedly (signal: killed)") {
		t.Errorf("error %v, want one that says that the worker was killed", err)
	}
}

// TestSealing: locks taken inside the standard library are no scheduling points,
// but they are in the log.
func TestSealing(t *testing.T) {
	log := run(t, start(t, sut.Snapshot, "sealed"), sut.Schedule{}, nil)
	sealedAccesses := 0
	for _, e := range log.Events {
		at, ok := program.Position(e.PC)
		if !ok {
			continue
		}
		if e.Kind == sut.Stepped && e.Operation == sut.Lock {
			t.Errorf("a goroutine could be preempted at %v, in %s", at, at.Function)
		}
		if e.Kind == sut.Accessed && !program.IsOwn(at) {
			sealedAccesses++
		}
	}
	if sealedAccesses == 0 {
		t.Error("no access inside the standard library was recorded")
	}
}

// TestOutputIsCut: a program that prints too much is told of where that shows, and what
// the runtime says at its end is there in any case.
func TestOutputIsCut(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := start(t, isolation, "verbose")
		for range 2 {
			log := run(t, w, sut.Schedule{}, nil)
			for name, out := range map[string][]byte{"stdout": log.Stdout, "stderr": log.Stderr} {
				kept, after, found := strings.Cut(string(out),
					"[tandem: an execution's output is kept up to 1 MiB")
				if n := strings.Count(kept, "x"); !found || n < 1<<20-10 || n > 1<<20 ||
					strings.Contains(after, "xx") {
					t.Errorf("%s: %d bytes are kept of the program's; it is said: %v", name, n, found)
				}
				if strings.Contains(after, "panic: at the end") != (name == "stderr") {
					t.Errorf("%s ends with %q", name, after)
				}
			}
		}
	}
}

// TestPendingResume: a goroutine that rests before an operation on a connection is pending at
// nothing yet: a descriptor's number is not the name of anything.
func TestPendingResume(t *testing.T) {
	w := start(t, sut.Snapshot, "greeted")
	resting := 0
	for seed := range uint64(40) {
		log := run(t, w, sut.Schedule{Seed: seed}, &echoServer{silent: true})
		if log.Outcome != sut.Exited {
			t.Fatalf("seed %d: %v %s", seed, log.Outcome, log.Stderr)
		}
		for _, e := range log.Events {
			if e.Kind != sut.Pending || e.Operation != sut.Resume {
				continue
			}
			resting++
			if e.Object != 0 || e.Ready != 0 {
				t.Errorf("seed %d: a resume is pending on object %#x, needs %d", seed, e.Object, e.Ready)
			}
		}
	}
	if resting == 0 {
		t.Error("no goroutine rests at the end of an execution")
	}
}
