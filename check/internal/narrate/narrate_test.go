package narrate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

func TestTraceback(t *testing.T) {
	p := &sut.Program{Open: []string{"main", "example.com/x/..."}}
	const stack = "\n\ngoroutine 7 [running]:\nruntime.throw({0x1, 0x2})\n\t/go/src/runtime/panic.go:10 " +
		"+0x1d\n" +
		"sync.(*Mutex).Unlock(...)\n\t/go/src/sync/mutex.go:65\nexample.com/x/y.(*T).f(0xc000)\n\t/home/a " +
		"b/x/y/t.go:12 +0x3\n" +
		"main.main()\n\t/home/x/main.go:3\n\ngoroutine 1 [chan " +
		"receive]:\nmain.other()\n\t/home/x/main.go:99\n"
	for text, want := range map[string]string{
		"panic: out" + stack: "panic: out",
		"printed before\npanic: first [recovered]\n\tpanic: second\n[signal SIGSEGV: x addr=0x18]" +
			stack: "panic: first [recovered]\n\tpanic: second",
		"fatal error: all asleep" + stack: "fatal error: all asleep",
		"panic: handled\n\ngoroutine 7 [running]:\nmain.handle()\n\t/x.go:1\n\npanic: not handled" +
			stack: "panic: not handled",
		"recovered panic: a\nworker B recovered panic: b\npanic: the real one" + stack: "panic: the real one",
		"an unfinished linepanic: out" + stack:                                         "panic: out",
		"panic: cut off":                                                               "panic: cut off",
		"panic: cut off\n\ngoroutine 1":                                                "panic: cut off",
		"":                                                                             "",
	} {
		message, places := tracebackOf(p, text)
		if message != want {
			t.Errorf("%q: message %q, want %q", text, message, want)
		}
		isCut := len(text) < len(stack)
		at := slices.IndexFunc(places, func(at place) bool {
			return at.Line == 12 && at.File == "/home/a b/x/y/t.go"
		})
		if isCut != (at < 0) {
			t.Errorf("%q: places %v", text, places)
		}
	}
}

// TestSummary: of panics the last one is named, and what a program prints is none.
func TestSummary(t *testing.T) {
	for outcome, want := range map[sut.Outcome]string{sut.Panicked: "third", sut.Exited: "told"} {
		s := Signature{outcome: outcome,
			message: "panic: first [recovered]\n\tpanic: second\n\tpanic: third\ntold"}
		if got := s.Summary().Message; got != want {
			t.Errorf("%v: %q, want %q", outcome, got, want)
		}
	}
}

// TestFailures: what is wrong and what was printed before are told apart, whatever is printed.
func TestFailures(t *testing.T) {
	const printed = " exit status 3\n\nprinted before:\nx\n"
	const trimmed = "exit status 3\n\nprinted before:\nx"
	const crash = "panic: out\n\ngoroutine 1 [running]:\nmain.main()\n\t/main.go:3"
	for _, c := range []struct {
		log  sut.Log
		want report.Failure
	}{
		{sut.Log{Outcome: sut.Panicked, Stderr: []byte(printed + crash + "\n")},
			report.Failure{Kind: model.Panicked, Message: crash, Printed: trimmed}},
		{sut.Log{Outcome: sut.Fatal, Stderr: []byte("fatal error: all asleep\n")},
			report.Failure{Kind: model.Panicked, Message: "fatal error: all asleep"}},
		{sut.Log{Outcome: sut.Exited, ExitCode: 2, Stderr: []byte(printed)},
			report.Failure{Kind: model.Exited, Message: "exit status 2", Status: 2, Printed: " " + trimmed}},
		{sut.Log{Outcome: sut.Exited, ExitCode: 1, Stderr: []byte("\n")},
			report.Failure{Kind: model.Exited, Message: "exit status 1", Status: 1}},
		{sut.Log{Outcome: sut.Exited, Message: "killed", Stderr: []byte("why\n")},
			report.Failure{Kind: model.Exited, Message: "ended by signal killed", Printed: "why"}},
		{sut.Log{Outcome: sut.AssertionFailed, Message: "seen 1", Stderr: []byte(printed)},
			report.Failure{Kind: model.AssertionFailed, Message: "assertion failed: seen 1",
				Printed: trimmed}},
	} {
		n := narrator{program: &sut.Program{}, log: &c.log}
		if diff := cmp.Diff(c.want, n.failure()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.log.Outcome, diff)
		}
	}
}

// TestRounds: a round is the shortest sequence of operations that is repeated at the end.
func TestRounds(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "aa": "a", "xab": "b", "xabab": "ab",
		"abcabc": "abc", "cabab": "ab", "aabaab": "aab"} {
		var operations []sut.Event
		for _, r := range text {
			operations = append(operations, sut.Event{Kind: sut.Accessed, PC: uint64(r)})
		}
		got := ""
		for _, e := range roundOf(operations) {
			got += string(rune(e.PC))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestDifferingFields: two events that the same words tell of differ visibly.
func TestDifferingFields(t *testing.T) {
	first := []sut.Event{{Kind: sut.Stepped}, {Kind: sut.Pending, Operation: sut.Resume, Object: 5, Ready: 1}}
	again := []sut.Event{{Kind: sut.Stepped}, {Kind: sut.Pending, Operation: sut.Resume, Object: 7}}
	want := "\n\tdiffering: ready 1, again 0\n\tdiffering: object 0x5, again 0x7"
	if got := DifferingFields(first, again, 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := DifferingFields(first, again[:1], 1); got != "" {
		t.Errorf("of an event that is missing: %q", got)
	}
}
