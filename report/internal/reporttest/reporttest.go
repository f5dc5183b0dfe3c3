// Package reporttest has counterexamples of several kinds, which the tests of reports share.
package reporttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report/internal/printer"

	"github.com/tandem-mc/tandem/report"
)

// newKeys is the number of the message after which a connection is encrypted.
const newKeys = 21 // of SSH, RFC 4253

// SSHPacket is an unencrypted packet with the given message number and payload size.
func SSHPacket(number byte, payload int) string {
	const padding = 4
	length := 1 + payload + padding
	packet := make([]byte, 4+length)
	packet[0], packet[1], packet[2], packet[3] = byte(length>>24), byte(length>>16), byte(length>>8),
		byte(length)
	packet[4], packet[5] = padding, number
	return string(packet)
}

// ToPeer is a message from the program.
func ToPeer(data string) report.Message { return report.Message{ToPeer: true, Data: []byte(data)} }

// FromPeer is a message to the program.
func FromPeer(data string) report.Message { return report.Message{Data: []byte(data)} }

// SSHSession is a counterexample like that of the scpto example.
func SSHSession() *report.Counterexample {
	const loop = "golang.org/x/crypto/ssh.(*mux).loop"
	const watch = "main.(*session).watch"
	return &report.Counterexample{
		Run: report.Run{
			Package: "./examples/scpto", Args: []string{"-addr", "127.0.0.1:2222"},
			Verdict: report.Violated, Reason: "panic: invalid memory address or nil pointer dereference",
			Counts: report.Counts{
				Executions: 12, Redundant: 3, Transitions: 1234, CacheHits: 200, CacheMisses: 20,
				ReadInputs: 6, Reads: "dropbear: getrandom 2, time 5",
				Uninstrumented:   []string{"/run/tandem/server (it is linked statically)"},
				Elapsed:          1503 * time.Millisecond,
				CheckpointCounts: report.CheckpointCounts{Checkpoints: 19, Restores: 2, Replayed: 1},
			},
			Assumptions: report.Assumptions{
				Strategy: "after-io", Scope: "group", Backend: "auto",
				Preemptible: []string{"github.com/tandem-mc/tandem/..."},
			},
		},
		Failure: report.Failure{
			Kind: model.Panicked,
			Message: "panic: runtime error: invalid memory address or nil pointer dereference\n\n" +
				"main.(*session).closeChannel(...)\n\tmain.go:89\nmain.run(...)\n\tmain.go:72\n",
		},
		Goroutines: []report.Goroutine{
			{ID: 1, Name: "main", Function: "main.main"},
			{ID: 2, Name: "main/1", Created: "mux.go:141", Function: loop, Blocked: "read from connection 0"},
			{ID: 3, Name: "main/2", Created: "main.go:67", Function: watch},
		},
		Steps: sessionSteps(loop, watch),
		Outputs: []report.Output{
			wrote(0, "dropbear", "[100] Not backgrounding\n"),
			wrote(0, "dropbear", "[101] Child connection from 127.0.0.1:61001\n\tIt is a test.\nand"),
			wrote(7, "other", strings.Repeat("line\n", 27)),
			wrote(8, "dropbear", "[101] Exit\n"),
		},
		Unheard:       true,
		ReplayCommand: "tandem replay scpto.recording",
	}
}

// wrote is what a peer wrote in a step.
func wrote(step int, peer, text string) report.Output {
	return report.Output{Step: step, Wrote: report.Wrote{Peer: peer, Text: []byte(text)}}
}

// step is a step in which nothing more happened than what is given.
func step(goroutine int, operation, object, source, function string, kind report.Kind,
	io ...report.Message) report.Step {
	return report.Step{
		Goroutine: goroutine, Operation: operation, Object: object, Source: source, Function: function,
		Kind: kind, IO: io,
	}
}

// sessionSteps are the steps of SSHSession.
func sessionSteps(loop, watch string) []report.Step {
	const (
		dial    = "github.com/tandem-mc/tandem/examples/scpto/scp.Dial"
		current = "main.(*session).current"
		socket  = report.Socket
		sync    = report.Synchronisation
	)
	packet := SSHPacket
	steps := []report.Step{
		step(1, "connect", "127.0.0.1:2222", "scp.go:41", dial, socket),
		step(1, "write", "connection 0", "scp.go:45", dial, socket,
			ToPeer("SSH-2.0-Go\r\n"), FromPeer("SSH-2.0-dropbear_2022.83\r\n"+packet(20, 900))),
		step(1, "write", "connection 0", "scp.go:45", dial, socket,
			ToPeer(packet(20, 1000)+packet(30, 33)), FromPeer(packet(31, 150)+packet(newKeys, 1))),
		step(1, "write", "connection 0", "scp.go:45", dial, socket,
			ToPeer(packet(newKeys, 1)+"encrypted"), FromPeer("also encrypted")),
		step(1, "start", "main/2", "main.go:67", "main.run", report.Lifetime),
		step(1, "lock", "mutex 1", "main.go:96", "main.(*session).connected", sync),
		step(1, "unlock", "mutex 1", "main.go:96", "main.(*session).connected.deferwrap1", sync),
		step(2, "write", "connection 0", "mux.go:222", loop, socket, ToPeer("close"), FromPeer("ok")),
		step(3, "write", "connection 0", "main.go:79", watch, socket,
			ToPeer("no more"), report.Message{Event: "end of stream"}),
		step(3, "lock", "mutex 1", "main.go:80", watch, sync),
		step(3, "unlock", "mutex 1", "main.go:82", watch, sync),
		step(1, "lock", "mutex 1", "main.go:102", current, sync),
		step(1, "unlock", "mutex 1", "main.go:104", current, sync),
		step(1, "panic", "", "main.go:89", "main.(*session).closeChannel", report.Lifetime),
	}
	for i := range 4 {
		steps[i].Cached = true
	}
	steps[7].Restored = "dropbear restored from the checkpoint after 9 inputs; 1 input replayed"
	steps[11].Preempts = true
	return steps
}

// Deadlock is a counterexample without a network.
func Deadlock() *report.Counterexample {
	step := func(goroutine int, operation, object, source string) report.Step {
		return report.Step{Goroutine: goroutine, Operation: operation, Object: object, Source: source,
			Function: "example.com/bank.transfer", Kind: report.Synchronisation}
	}
	return &report.Counterexample{
		Run: report.Run{Package: "./bank", Args: []string{"two words", "it's", ""},
			Verdict: report.Violated, Reason: "deadlock"},
		Failure: report.Failure{Kind: model.Deadlock, Message: "deadlock: all goroutines wait"},
		Goroutines: []report.Goroutine{
			{ID: 1, Name: "main", Function: "main.main", Blocked: "wait for wait group 1, main.go:20"},
			{ID: 2, Name: "main/1", Created: "main.go:14", Function: "main.main.func1",
				Blocked: "lock mutex 2, bank.go:31"},
			{ID: 3, Name: "main/2", Created: "main.go:14", Function: "main.main.func1",
				Blocked: "lock mutex 1, bank.go:31"},
		},
		Steps: []report.Step{
			step(2, "lock", "mutex 1", "bank.go:30"), step(2, "atomic load", "counter 1", "bank.go:31"),
			step(2, "atomic load", "counter 1", "bank.go:31"),
			step(2, "atomic load", "counter 1", "bank.go:31"),
			step(3, "lock", "mutex 2", "bank.go:30"), step(9, "sleep", "", "bank.go:33"),
		},
	}
}

// Long is a counterexample with n quiet steps in each turn of two goroutines.
func Long(turns, n int) *report.Counterexample {
	c := &report.Counterexample{Run: report.Run{Package: "./long", Verdict: report.Violated,
		Reason: "exit status 2"},
		Failure: report.Failure{Kind: model.Exited, Message: "exit status 2", Status: 2}}
	for turn := range turns {
		for i := range n {
			c.Steps = append(c.Steps, report.Step{Goroutine: turn % 2, Operation: "lock",
				Object: "mutex " + textutil.Count(i),
				Source: fmt.Sprint("long.go:", turn), Function: "main.main", Kind: report.Synchronisation})
		}
		c.Steps = append(c.Steps, report.Step{Goroutine: turn % 2, Operation: "write", Object: "connection 0",
			Source: "long.go:2", Function: "main.main", Kind: report.Socket,
			IO: []report.Message{ToPeer("12345\n")}})
	}
	return c
}

// Hostile has texts that would take over the terminal, and too much of everything.
func Hostile() *report.Counterexample {
	const evil = "\x1b[2J\x00\xff\r\u202e"
	c := &report.Counterexample{
		Run: report.Run{Package: evil, Args: []string{evil}, Verdict: report.Violated, Reason: evil,
			Assumptions: report.Assumptions{Strategy: evil, Scope: evil, Backend: evil,
				Preemptible: []string{evil}, Other: []string{evil}}},
		Failure:       report.Failure{Message: evil + "\n\t" + evil + strings.Repeat("\nmore", 200)},
		ReplayCommand: evil,
		Steps: []report.Step{{
			Operation: evil, Object: evil, Source: evil, Function: evil, Kind: report.Socket,
			IO:       []report.Message{ToPeer(evil), {Event: evil}, ToPeer(strings.Repeat("GET", 1000))},
			Restored: evil, Cached: true, Preempts: true,
		}},
	}
	for i := range printer.MaxListed + 3 {
		text := evil + "\n" + strings.Repeat(evil, 5000)
		c.Outputs = append(c.Outputs, wrote(i, evil+strings.Repeat("x", i), text))
		c.Goroutines = append(c.Goroutines, report.Goroutine{
			ID: i, Name: evil, Created: evil, Function: evil, Blocked: evil,
		})
	}
	return c
}

// DataRace is a counterexample whose second access is by the runtime on behalf of a caller.
func DataRace() *report.Counterexample {
	first := report.Goroutine{ID: 1, Name: "main/1", Created: "bank/main.go:16", Function: "main.main.func1"}
	second := report.Goroutine{ID: 2, Name: "main/2", Created: "bank/main.go:20", Function: "main.main.func2"}
	return &report.Counterexample{
		Run: report.Run{
			Package: "./bank", Verdict: report.Violated, Reason: "the search stopped at the first violation",
			Counts: report.Counts{Executions: 1, Transitions: 5},
		},
		Goroutines: []report.Goroutine{
			{Name: "main", Function: "main.main", Blocked: "wait for (wait group 1) at bank/main.go:23"},
			first, second,
		},
		Failure: report.Failure{Kind: model.DataRace,
			Message: "data race: nothing orders two accesses to the same memory"},
		Race: &report.Race{
			Later: report.MemoryAccess{
				Operation: "write", Address: 0xc000014040, Size: 16, Goroutine: second, Stack: []report.Frame{
					{Function: "example.com/bank/account.(*Account).Rename", Source: "account/account.go:31"},
					{Function: "main.main.func2", Source: "bank/main.go:21"},
				},
			},
			Earlier: report.MemoryAccess{
				Operation: "atomic read", Address: 0xc000014048, Goroutine: first,
				Stack: []report.Frame{{Function: "main.main.func1", Source: "bank/main.go:17"}},
			},
		},
	}
}

// Package is the tests of a package, with every verdict.
func Package() report.TestPackage {
	c := &report.Counterexample{
		Run: report.Run{Package: "example.com/q", Args: []string{"TestB/x"},
			Verdict: report.Violated, Reason: "the search stopped at the first violation"},
		Failure: report.Failure{Kind: model.Exited, Message: "exit status 1", Status: 1,
			Printed: "\x1b[31m q_test.go:7: <wrong> ]]> \xff"},
		Goroutines:    []report.Goroutine{{Name: "main", Function: "main.main"}},
		ReplayCommand: "tandem replay q.TestB_x.counterexample",
	}
	return report.TestPackage{
		Name: "example.com/q", Elapsed: 1500 * time.Millisecond,
		Assumptions: report.Assumptions{Preemptible: []string{"example.com/q"}},
		Tests: []report.Test{
			{Name: "TestA", Verdict: report.Holds, Executions: 1, Elapsed: 10 * time.Millisecond},
			{Name: "TestB/x", Verdict: report.Violated, Reason: "the search stopped at the first violation",
				Executions: 1234, Elapsed: time.Second, Counterexample: c,
				Violations: []report.Violation{{Outcome: "exit",
					Message: "q_test.go:7: <wrong>", Places: []string{"q_test.go:7"}, Counterexample: c}}},
			{Name: "TestB", Verdict: report.Violated, Reason: "a subtest is violated", Executions: 2},
			{Name: "TestC\x1b", Verdict: report.Unknown, Reason: "the limit of 3 executions was reached",
				Executions: 3},
			{Name: "TestD", Verdict: report.Holds, Skipped: true, Executions: 1, Note: "searched whole\x1b"},
			{Name: "TestE", Verdict: report.Errored, Reason: "q cannot be checked: starting a " +
				"subprocess\n\tat q_test.go:9"},
		},
	}
}

// Violations are distinct violations of one program.
func Violations() (report.Run, []report.Violation) {
	run := report.Run{
		Package: "./several", Args: []string{"a b"}, Verdict: report.Violated,
		Reason: "8 of 15 executions are violations",
		Counts: report.Counts{Executions: 15, Transitions: 306, SelfChecked: 1,
			Elapsed: 10 * time.Millisecond},
		Assumptions: report.Assumptions{Preemptible: []string{"main"},
			Other: []string{"data races are looked for in: main"}},
	}
	return run, []report.Violation{
		{Outcome: "panic", Message: "seen 1", Places: []string{"several/main.go:18"}, Executions: 1234,
			Size: report.Size{Preemptions: 0, Transitions: 19}, File: "several.1.counterexample"},
		{Outcome: "deadlock", Places: []string{"lock at several/main.go:16", "lock at several/main.go:18"},
			Executions: 1, Size: report.Size{Preemptions: 1, Transitions: 14}, File: "it's.2.counterexample"},
		{Outcome: "exit", Message: "\x1b[2J\xff" + fmt.Sprintf("%0200d", 7)},
	}
}

// Located are violations whose places are known: a deadlock and a data race.
func Located() []report.Violation {
	deadlock, race := Deadlock(), DataRace()
	deadlock.Files = map[string]string{"main.go": "bank/main.go", "bank.go": "bank/a file.go"}
	race.Files = map[string]string{"bank/main.go": "cmd/bank/main.go",
		"account/account.go": "account/account.go"}
	return []report.Violation{
		{Outcome: "deadlock", Places: []string{"lock at bank.go:31", "wait for wait group at main.go:20"},
			Functions: []string{"lock at example.com/bank.transfer",
				"wait for wait group at example.com/bank.main"},
			File: "bank.counterexample", Size: deadlock.Size(), Executions: 3, Counterexample: deadlock},
		{Outcome: "data race",
			Places: []string{"atomic read at bank/main.go:17", "write at account/account.go:31"},
			Functions: []string{"atomic read at example.com/bank.main.func1",
				"write at example.com/bank/account.(*Account).Rename"},
			Counterexample: race},
	}
}
