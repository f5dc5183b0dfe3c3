package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/textutil"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func textOf(t *testing.T, c *Counterexample, options Options) string {
	t.Helper()
	var text bytes.Buffer
	if err := WriteText(&text, c, options); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// sshPacket is an unencrypted packet with the given message number and payload size.
func sshPacket(number byte, payload int) string {
	const padding = 4
	length := 1 + payload + padding
	packet := make([]byte, 4+length)
	packet[0], packet[1], packet[2], packet[3] = byte(length>>24), byte(length>>16), byte(length>>8), byte(length)
	packet[4], packet[5] = padding, number
	return string(packet)
}

func toPeer(data string) Message   { return Message{ToPeer: true, Data: []byte(data)} }
func fromPeer(data string) Message { return Message{Data: []byte(data)} }

// sshSession is a counterexample like that of the scpto example.
func sshSession() *Counterexample {
	const (
		dial  = "github.com/tandem-mc/tandem/examples/scpto/scp.Dial"
		close = "main.(*session).closeChannel"
		watch = "main.(*session).watch"
		loop  = "golang.org/x/crypto/ssh.(*mux).loop"
	)
	return &Counterexample{
		Run: Run{
			Package: "./examples/scpto", Args: []string{"-addr", "127.0.0.1:2222"},
			Verdict: Violated, Reason: "panic: invalid memory address or nil pointer dereference",
			Counts: Counts{
				Executions: 12, Redundant: 3, Transitions: 1234, CacheHits: 200, CacheMisses: 20,
				ReadInputs: 6, Reads: "dropbear: getrandom 2, time 5", Blind: []string{"/run/tandem/server (it is linked statically)"},
				Checkpoints: 19, Restores: 2, Replayed: 1, Elapsed: 1503 * time.Millisecond,
			},
			Assumptions: Assumptions{
				Strategy: "after-io", Scope: "group", Backend: "auto",
				Preemptible: []string{"github.com/tandem-mc/tandem/..."},
			},
		},
		Outcome: "panic: runtime error: invalid memory address or nil pointer dereference\n\n" +
			"main.(*session).closeChannel(...)\n\tmain.go:89\nmain.run(...)\n\tmain.go:72\n",
		Goroutines: []Goroutine{
			{ID: 1, Name: "main", Function: "main.main"},
			{ID: 2, Name: "main/1", Created: "mux.go:141", Function: loop, Blocked: "read from connection 0"},
			{ID: 3, Name: "main/2", Created: "main.go:67", Function: watch},
		},
		Steps: []Step{
			{1, "connect", "127.0.0.1:2222", "scp.go:41", dial, Socket, nil, "", true, false},
			{1, "write", "connection 0", "scp.go:45", dial, Socket, []Message{
				toPeer("SSH-2.0-Go\r\n"), fromPeer("SSH-2.0-dropbear_2022.83\r\n" + sshPacket(20, 900)),
			}, "", true, false},
			{1, "write", "connection 0", "scp.go:45", dial, Socket, []Message{
				toPeer(sshPacket(20, 1000) + sshPacket(30, 33)),
				fromPeer(sshPacket(31, 150) + sshPacket(newKeys, 1)),
			}, "", true, false},
			{1, "write", "connection 0", "scp.go:45", dial, Socket, []Message{
				toPeer(sshPacket(newKeys, 1) + "encrypted"), fromPeer("also encrypted"),
			}, "", true, false},
			{1, "start", "main/2", "main.go:67", "main.run", Lifetime, nil, "", false, false},
			{1, "lock", "mutex 1", "main.go:96", "main.(*session).connected", Synchronisation, nil, "", false, false},
			{1, "unlock", "mutex 1", "main.go:96", "main.(*session).connected.deferwrap1", Synchronisation, nil, "", false, false},
			{2, "write", "connection 0", "mux.go:222", loop, Socket, []Message{toPeer("close"), fromPeer("ok")},
				"checkpoint 17, after 9 inputs; 1 input replayed", false, false},
			{3, "write", "connection 0", "main.go:79", watch, Socket, []Message{
				toPeer("no more"), {Event: "end of stream"},
			}, "", false, false},
			{3, "lock", "mutex 1", "main.go:80", watch, Synchronisation, nil, "", false, false},
			{3, "unlock", "mutex 1", "main.go:82", watch, Synchronisation, nil, "", false, false},
			{1, "lock", "mutex 1", "main.go:102", "main.(*session).current", Synchronisation, nil, "", false, true},
			{1, "unlock", "mutex 1", "main.go:104", "main.(*session).current", Synchronisation, nil, "", false, false},
			{1, "panic", "", "main.go:89", close, Lifetime, nil, "", false, false},
		},
		Outputs: []Output{
			{0, Wrote{"dropbear", []byte("[100] Not backgrounding\n")}},
			{0, Wrote{"dropbear", []byte("[101] Child connection from 127.0.0.1:61001\n\tIt is a test.\nand")}},
			{7, Wrote{"other", []byte(strings.Repeat("line\n", 27))}},
			{8, Wrote{"dropbear", []byte("[101] Exit\n")}},
		},
		Unheard:       true,
		ReplayCommand: "tandem replay scpto.recording",
	}
}

// deadlock is a counterexample without a network.
func deadlock() *Counterexample {
	step := func(goroutine int, operation, object, source string) Step {
		return Step{Goroutine: goroutine, Operation: operation, Object: object, Source: source,
			Function: "example.com/bank.transfer", Kind: Synchronisation}
	}
	return &Counterexample{
		Run:     Run{Package: "./bank", Args: []string{"two words", "it's", ""}, Verdict: Violated, Reason: "deadlock"},
		Outcome: "deadlock: all goroutines wait",
		Goroutines: []Goroutine{
			{ID: 1, Name: "main", Function: "main.main", Blocked: "wait for wait group 1, main.go:20"},
			{ID: 2, Name: "main/1", Created: "main.go:14", Function: "main.main.func1", Blocked: "lock mutex 2, bank.go:31"},
			{ID: 3, Name: "main/2", Created: "main.go:14", Function: "main.main.func1", Blocked: "lock mutex 1, bank.go:31"},
		},
		Steps: []Step{
			step(2, "lock", "mutex 1", "bank.go:30"), step(2, "atomic load", "counter 1", "bank.go:31"),
			step(2, "atomic load", "counter 1", "bank.go:31"), step(2, "atomic load", "counter 1", "bank.go:31"),
			step(3, "lock", "mutex 2", "bank.go:30"), step(9, "sleep", "", "bank.go:33"),
		},
	}
}

// long is a counterexample with n quiet steps in each turn of two goroutines.
func long(turns, n int) *Counterexample {
	c := &Counterexample{Run: Run{Package: "./long", Verdict: Violated, Reason: "exit status 2"}, Outcome: "exit status 2"}
	for turn := range turns {
		for i := range n {
			c.Steps = append(c.Steps, Step{Goroutine: turn % 2, Operation: "lock", Object: "mutex " + textutil.Count(i),
				Source: "long.go:1", Function: "main.main", Kind: Synchronisation})
		}
		c.Steps = append(c.Steps, Step{Goroutine: turn % 2, Operation: "write", Object: "connection 0",
			Source: "long.go:2", Function: "main.main", Kind: Socket, IO: []Message{toPeer("12345\n")}})
	}
	return c
}

// hostile has texts that would take over the terminal, and too much of everything.
func hostile() *Counterexample {
	const evil = "\x1b[2J\x00\xff\r\u202e"
	c := &Counterexample{
		Run: Run{Package: evil, Args: []string{evil}, Verdict: Violated, Reason: evil,
			Assumptions: Assumptions{Strategy: evil, Scope: evil, Backend: evil, Preemptible: []string{evil}, Other: []string{evil}}},
		Outcome:       evil + "\n\t" + evil + strings.Repeat("\nmore", 200),
		ReplayCommand: evil,
		Steps: []Step{{0, evil, evil, evil, evil, Socket,
			[]Message{toPeer(evil), {Event: evil}, toPeer(strings.Repeat("GET", 1000))}, evil, true, true}},
	}
	for i := range maxListed + 3 {
		c.Outputs = append(c.Outputs, Output{i, Wrote{evil + strings.Repeat("x", i), []byte(evil + "\n" + strings.Repeat(evil, 5000))}})
		c.Goroutines = append(c.Goroutines, Goroutine{ID: i, Name: evil, Created: evil, Function: evil, Blocked: evil})
	}
	return c
}

func TestGolden(t *testing.T) {
	tests := []struct {
		file    string
		example *Counterexample
		options Options
	}{
		{"ssh.txt", sshSession(), Options{}},
		{"ssh_color.txt", sshSession(), Options{Color: true}},
		{"ssh_unfold.txt", sshSession(), Options{Unfold: true}},
		{"deadlock.txt", deadlock(), Options{}},
		{"folded.txt", long(3, 20), Options{}},
		{"hostile.txt", hostile(), Options{}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) { golden(t, test.file, textOf(t, test.example, test.options)) })
	}
}

func TestGoldenSummary(t *testing.T) {
	run := sshSession().Run
	run.Verdict, run.Reason = Unknown, "the bound of 12 executions was reached"
	run.Assumptions.Other = []string{"no network faults"}
	for file, run := range map[string]Run{
		"summary_unknown.txt": run,
		"summary_holds.txt":   {Package: "./examples/httpget", Verdict: Holds, Reason: "all schedules were covered", Counts: Counts{Executions: 1}},
	} {
		var text bytes.Buffer
		if err := WriteSummary(&text, run, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, file, text.String())
	}
}

func TestLongScheduleKeepsItsEnds(t *testing.T) {
	c := long(1000, 1)
	text := textOf(t, c, Options{})
	if n := strings.Count(text, "\n"); n > 4*maxRows {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"        1    ", "     2000  ", "... steps 101 to 1700 are left out\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if unfolded := textOf(t, c, Options{Unfold: true}); strings.Count(unfolded, " lock ") != 1000 {
		t.Error("not all steps are shown when asked for")
	}
}

// No text, wherever it comes from, reaches the terminal in a form it acts on, or leaves the columns of
// the schedule.
func TestPrintableLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\n\ttwo\n": "one\n\ttwo\n", "a\x1b[31m\nb\xff\t": "a\\x1b[31m\nb\\xff\t",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAnyTextIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name)) }
		c := &Counterexample{
			Run:        Run{Package: text("package"), Args: []string{text("arg")}, Verdict: Violated, Reason: text("reason")},
			Outcome:    text("outcome"),
			Goroutines: []Goroutine{{1, text("name"), text("created"), text("function"), text("blocked")}},
			Steps: []Step{{1, text("operation"), text("object"), text("source"), text("in"), Socket,
				[]Message{toPeer(text("data")), {Event: text("event")}}, text("restored"), true, false}},
		}
		var out bytes.Buffer
		if err := WriteText(&out, c, Options{}); err != nil {
			t.Fatal(err)
		}
		_, schedule, _ := strings.Cut(out.String(), "\nSchedule\n")
		schedule, _, _ = strings.Cut(schedule, "\nFailure\n")
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); printable(line) != line {
				t.Fatalf("unprintable: %q", line)
			}
		}
		for line := range strings.Lines(schedule) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Fatalf("%d columns: %q", n, line)
			}
		}
	})
}

// No step is lost or shown twice, however rows are joined and folded.
func TestRowsCoverAllSteps(t *testing.T) {
	kinds := []Kind{Synchronisation, Channel, Lifetime, Socket}
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Step {
			return Step{
				Goroutine: rapid.IntRange(0, 1).Draw(t, "goroutine"),
				Operation: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "operation"),
				Object:    rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "object"),
				Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
			}
		}), 0, 60).Draw(t, "steps")
		rows := rowsOf(steps)
		next := 0
		for _, r := range fold(rows) {
			if r.first != next || r.last < r.first {
				t.Fatalf("row of steps %d to %d, want it to begin with %d", r.first, r.last, next)
			}
			next = r.last + 1
			for i := r.first; i <= r.last; i++ {
				if steps[i].Goroutine != r.goroutine || r.last > r.first && steps[i].Kind == Socket {
					t.Fatalf("step %d (%+v) is in the row %+v", i, steps[i], r)
				}
			}
		}
		if next != len(steps) {
			t.Fatalf("%d of %d steps are shown", next, len(steps))
		}
	})
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestLinesAreBounded(t *testing.T) {
	c := &Counterexample{Outcome: strings.Repeat("x", 10*maxLine), ReplayCommand: strings.Repeat("y", 10*maxLine)}
	if text := textOf(t, c, Options{}); len(text) > 3*maxLine {
		t.Errorf("%d bytes", len(text))
	}
}

func TestWriteErrorsAreReturned(t *testing.T) {
	if err := WriteText(fullDisk{}, deadlock(), Options{}); !errors.Is(err, errFull) {
		t.Errorf("WriteText: %v", err)
	}
	if err := WriteSummary(fullDisk{}, Run{}, Options{}); !errors.Is(err, errFull) {
		t.Errorf("WriteSummary: %v", err)
	}
}

func TestBareFunction(t *testing.T) {
	for function, want := range map[string]string{
		"":                                      "",
		"main.run":                              "run",
		"golang.org/x/crypto/ssh.(*mux).loop":   "(*mux).loop",
		"main.(*session).connected.deferwrap12": "(*session).connected",
		"main.deferwrapped":                     "deferwrapped",
		"main.f.deferwrapper":                   "f.deferwrapper",
		"example.com/v2.5/x.main.func1":         "main.func1",
	} {
		if got := bareFunction(function); got != want {
			t.Errorf("bareFunction(%q) = %q, want %q", function, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := textutil.Count(n); got != want {
			t.Errorf("textutil.Count(%d) = %s, want %s", n, got, want)
		}
	}
}

// dataRace is a counterexample whose second access is by the runtime on behalf of a caller.
func dataRace() *Counterexample {
	first := Goroutine{ID: 1, Name: "main/1", Created: "bank/main.go:16", Function: "main.main.func1"}
	second := Goroutine{ID: 2, Name: "main/2", Created: "bank/main.go:20", Function: "main.main.func2"}
	return &Counterexample{
		Run:        Run{Package: "./bank", Verdict: Violated, Reason: "the search stopped at the first violation", Counts: Counts{Executions: 1, Transitions: 5}},
		Goroutines: []Goroutine{{Name: "main", Function: "main.main", Blocked: "wait for (wait group 1) at bank/main.go:23"}, first, second},
		Outcome:    "data race: nothing orders two accesses to the same memory",
		Race: &Race{
			Later: MemoryAccess{Operation: "write", Address: 0xc000014040, Size: 16, Goroutine: second, Stack: []Frame{
				{"example.com/bank/account.(*Account).Rename", "account/account.go:31"}, {"main.main.func2", "bank/main.go:21"},
			}},
			Earlier: MemoryAccess{Operation: "atomic read", Address: 0xc000014048, Goroutine: first, Stack: []Frame{{"main.main.func1", "bank/main.go:17"}}},
		},
	}
}

func TestDataRace(t *testing.T) {
	golden(t, "race.txt", textOf(t, dataRace(), Options{}))
	evil := dataRace()
	evil.Race.Later = MemoryAccess{Operation: "\x1b[2J", Goroutine: Goroutine{Name: "\x07", Created: "\x1b"}, Stack: []Frame{{"\x1b[31m", "\r"}}}
	evil.Race.Earlier = MemoryAccess{Operation: "read", Stack: make([]Frame, 1000)}
	text := textOf(t, evil, Options{})
	if strings.ContainsAny(text, "\x1b\x07\r") || strings.Count(text, "\n") > 200 {
		t.Errorf("%d lines: %q", strings.Count(text, "\n"), text)
	}
}
