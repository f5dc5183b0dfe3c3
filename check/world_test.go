package check

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// worldTest is a program of testdata/world, and all of its outcomes.
type worldTest struct {
	scenario string
	signals  []syscall.Signal
	want     []string
}

var worldTests = []worldTest{
	{"one file", nil, []string{"one completed", "two completed"}},
	{"two files", nil, []string{"onetwo completed"}},
	{"exclusive", nil, []string{"a0 completed", "b0 completed"}},
	{"list", nil, []string{"[] completed", "[a] completed", "[a b] completed"}},
	{"rename", nil, []string{"old completed", "new completed"}},
	{"replace", nil, []string{"old completed", "new completed", " completed"}},
	{"append", nil, []string{"ab completed", "ba completed"}},
	{"offset", nil, []string{"ab completed", "ba completed"}},
	{"locked", nil, []string{"11 completed"}},
	{"lock or not", nil, []string{"1 completed", "11 completed"}},
	{"closed", nil, []string{"true completed", "false completed"}},
	{"removed", nil, []string{"here completed", "no such file or directory completed"}},
	{"readers", nil, []string{" completed"}},
	{"moved directory", nil, []string{"true true completed", "false false completed"}},
	{"full", nil, []string{"[true false] completed", "[false true] completed"}},
	{"handled", nil, []string{"user defined signal 1 <nil> hangup <nil> completed"}},
	{"kill", nil, []string{" exited with a non-zero status"}},
	{"ignored", nil, []string{"true completed"}},
	{"notify", nil, []string{"terminated completed", " exited with a non-zero status"}},
	{"notify context", nil, []string{"context canceled completed"}},
	{"arrives", nil, []string{"done completed"}},
	{"arrives", []syscall.Signal{syscall.SIGINT}, []string{"done completed", "interrupt completed"}},
	{"arrives", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM},
		[]string{"done completed", "interrupt completed", "terminated completed"}},
	{"arrives late", []syscall.Signal{syscall.SIGTERM},
		[]string{"after 0 completed", "after 1 completed", "after 2 completed", "never completed"}},
	{"none", []syscall.Signal{syscall.SIGTERM}, []string{"done completed"}},
	{"shutdown", nil, []string{"A completed"}},
	{"shutdown", []syscall.Signal{syscall.SIGTERM}, []string{"A completed", " panicked"}},
	{"shutdown fixed", []syscall.Signal{syscall.SIGTERM}, []string{"A completed", " completed"}},
}

// isForked has those that are searched in forked executions too: it takes longer.
var isForked = map[string]bool{
	"replace": true, "locked": true, "closed": true, "full": true, "handled": true, "notify": true,
	"arrives": true, "arrives late": true,
}

// TestWorld compares the outcomes that the reduced search finds with those there are, and, where
// the schedules are not too many, with the enumeration of all.
func TestWorld(t *testing.T) {
	p, err := buildProgram("testdata/world", filepath.Join(tree, "world"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range worldTests {
		t.Run(test.scenario, func(t *testing.T) {
			o := sut.Options{Args: []string{test.scenario}, Dir: t.TempDir()}
			o.Environment = sut.Environment{Signals: test.signals, SignalLimit: 1, Disk: 1 << 20}
			want := map[string]bool{}
			for _, outcome := range test.want {
				want[outcome] = true
			}
			seen, executions := outcomesWith(t, p, o, dporSearch())
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("%d executions:\n%s", executions, diff)
			}
			if isForked[test.scenario] {
				o := o
				o.Isolation = sut.Fork
				if forked, n := outcomesWith(t, p, o, dporSearch()); n != executions ||
					!cmp.Equal(forked, seen) {
					t.Errorf("%d executions forked, with %v; in place %d, with %v", n, forked, executions,
						seen)
				}
			}
			all, schedules := outcomesWith(t, p, o, maxExecutions(dfsSearch(), 2000))
			t.Logf("%d executions for %d schedules", executions, schedules)
			if diff := cmp.Diff(want, all); diff != "" && schedules < 2000 {
				t.Errorf("all %d schedules:\n%s", schedules, diff)
			}
			if test.scenario == "readers" && executions != 1 {
				t.Errorf("%d executions of a program that only reads, want 1", executions)
			}
		})
	}
}
