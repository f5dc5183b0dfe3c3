package raft

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/protocol"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

var (
	boundsFlag = flag.Bool("bounds", false, "search all bounds of the table, which takes minutes")
	updateFlag = flag.Bool("update", false, "write the table to README.md; with -bounds")
	// mutantFlag is set where raft is a copy with one line changed (TestEarlierTerm).
	mutantFlag = flag.Bool("mutant", false, "raft commits entries of earlier terms")
)

// bound is a model that holds, and a row of the table.
type bound struct {
	what string
	Options
	isQuick bool // it belongs to each run of the tests
}

// bounds are all on three nodes.
var bounds = []bound{
	{"an election, a proposal", Options{Left: left(1, 0, 1)}, true},
	{"an election, a proposal, a crash", Options{Left: left(1, 0, 1), Faults: faults(0, 1)}, true},
	{"an election, a removal of a node", Options{Left: removal(0)}, true},
	{"an election, a removal and a return", Options{Left: removal(1), Ordered: true}, true},
	{"two elections", Options{Left: left(1, 1, 0)}, true},
	{"two elections, a lost message", Options{Left: left(1, 1, 0), Faults: faults(1, 0)}, false},
	{"two elections, a crash", Options{Left: left(1, 1, 0), Faults: faults(0, 1)}, false},
	{"two elections, a proposal", Options{Left: left(1, 1, 1)}, false},
	{"two elections after those of figure 8", figure8(), false},
	{"two elections, a proposal, a heartbeat, a lost message, a crash", Options{
		Left:    []Budget{{Elections: 1, Proposals: 1, Heartbeats: 1}, {Elections: 1}, {}},
		Ordered: true, Faults: faults(1, 1),
	}, false},
	{"three elections, a crash", Options{
		Left:    []Budget{{Elections: 1}, {Elections: 1}, {Elections: 1}},
		Ordered: true, Faults: faults(0, 1),
	}, false},
}

// left is a budget of elections of the first two nodes, and of proposals of the first.
func left(first, second, proposals int) []Budget {
	return []Budget{{Elections: first, Proposals: proposals}, {Elections: second}, {}}
}

// removal is a budget for one leader that removes a node.
func removal(returns int) []Budget {
	return []Budget{{Elections: 1, Removals: 1, Returns: returns}, {}, {}}
}

func faults(drops, crashes int) protocol.Faults {
	return protocol.Faults{Drops: drops, Crashes: crashes}
}

// TestBounds: raft holds. What was searched is printed as a table.
func TestBounds(t *testing.T) {
	rows := []string{tableHead}
	for _, b := range bounds {
		if !b.isQuick && !*boundsFlag {
			continue
		}
		r := protocol.Test(t, Model(b.Options), protocol.Options{Workers: 2, Time: 10 * time.Minute})
		if r == nil || r.Verdict != protocol.Holds {
			t.Fatalf("%s: %v", b.what, r)
		}
		network := protocol.Unordered
		if b.Ordered {
			network = protocol.Ordered
		}
		rows = append(rows, fmt.Sprintf("| %s | %v | %d | %d | %d | %d | %d | %d | %.1f s |",
			b.what, network, r.States, r.Transitions, r.Depth, r.Locals, r.Handlers,
			r.Bytes/int64(r.States), r.Elapsed.Seconds()))
	}
	table := strings.Join(rows, "\n") + "\n"
	t.Log("\n" + table)
	if *updateFlag && *boundsFlag {
		writeTable(t, table)
	}
}

const tableHead = "| in a run, at most | network | states | transitions | longest run | local states " +
	"| handlers run | bytes per state | time |\n|---|---|--:|--:|--:|--:|--:|--:|--:|"

// writeTable puts the table between two marks of README.md.
func writeTable(t *testing.T, table string) {
	const begin, end = "<!-- make raft UPDATE=1 -->\n", "<!-- end -->"
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("README.md has no %q and %q", begin, end)
	}
	if err := os.WriteFile("README.md", []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// screen is how many lines of a chart are seen at once.
const screen = 50

// wantViolation checks a model, and wants a shortest run of so many steps to be on one screen.
func wantViolation(t *testing.T, o Options, what string, steps int) *protocol.Violation {
	t.Helper()
	r, err := protocol.Check(Model(o), protocol.Options{})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v; want a violation", r, err)
	}
	lines := strings.Count(r.Violation.Chart, "\n")
	if !strings.HasPrefix(r.Violation.What, what) || r.Violation.Steps != steps {
		t.Errorf("%v; want %q after %d steps", r, what, steps)
	}
	t.Logf("%v; %d steps, %d lines\n%s", r, r.Violation.Steps, lines, r.Violation.Chart)
	return r.Violation
}

// wantScreen wants a chart to be seen at once.
func wantScreen(t *testing.T, v *protocol.Violation) {
	t.Helper()
	if lines := strings.Count(v.Chart, "\n"); lines > screen {
		t.Errorf("the chart has %d lines; want %d at most", lines, screen)
	}
}

// TestForgetVote: a node that crashes after its vote votes once more, so a term has two leaders.
func TestForgetVote(t *testing.T) {
	wantScreen(t, wantViolation(t, Options{
		Left: left(1, 1, 0), Faults: faults(0, 1), Bug: ForgetVote,
	}, "election safety", 8))
}

// TestLateEntries: a node acknowledges an entry and crashes before it is on the disk. It votes for,
// or becomes, a leader without that entry.
func TestLateEntries(t *testing.T) {
	wantScreen(t, wantViolation(t, Options{
		Left: left(1, 1, 0), Faults: faults(0, 1), Bug: LateEntries,
	}, "leader completeness", 10))
}

// figure8 is the situation of Ongaro and Ousterhout, figure 8 (b): an entry of term 2 is on node 1
// only, and one of term 3 on node 2 only. Both may become leaders once more.
func figure8() Options {
	return Options{
		Left: left(1, 1, 0), OneEntry: true,
		Disks: []Disk{
			{Hard: Hard{Term: 3, Commit: 1}, Log: []Entry{{Term: 2}}},
			{Hard: Hard{Term: 3, Vote: 2, Commit: 1}, Log: []Entry{{Term: 3}}},
			{Hard: Hard{Term: 3, Vote: 2, Commit: 1}},
		},
	}
}

// TestFigure8: raft holds where the mutant of TestEarlierTerm does not.
func TestFigure8(t *testing.T) {
	if *mutantFlag {
		wantScreen(t, wantViolation(t, figure8(), "leader completeness", 11))
		wantScreen(t, wantViolation(t, fromNothing(), "leader completeness", 23))
		return
	}
	o := figure8()
	o.Ordered = true // which is faster; TestBounds has the other network
	protocol.Test(t, Model(o), protocol.Options{})
}

// fromNothing has the runs that lead to that situation, too.
func fromNothing() Options {
	return Options{Left: left(2, 2, 0), OneEntry: true, Ordered: true}
}

// TestEarlierTerm: a raft that takes an entry of an earlier term for committed, since a majority
// has it, loses that entry. It is a copy of raft with one line changed, made for this test.
func TestEarlierTerm(t *testing.T) {
	if *mutantFlag {
		t.Skip("this is the mutant")
	}
	const right = "if at.term != 0 && at.index > l.committed && l.matchTerm(at) {"
	const wrong = "if at.term != 0 && at.index > l.committed {"
	dir := t.TempDir()
	source := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}", "go.etcd.io/raft/v3"))
	if err := os.CopyFS(filepath.Join(dir, "raft"), os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "raft", "log.go")
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), right) != 1 {
		t.Fatalf("%s has not the line %q once (error %v)", file, right, err)
	}
	text = []byte(strings.Replace(string(text), right, wrong, 1))
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	// Relative paths of replacements begin where the module is, which stays the same.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod := filepath.Join(dir, "go.mod")
	command(t, "go", "mod", "edit", "-replace", "go.etcd.io/raft/v3="+filepath.Join(dir, "raft"), mod)
	t.Log(command(t, "go", "test", "-modfile", mod, "-count=1", "-v", "-run", "^TestFigure8$", ".",
		"-mutant"))
}

// command runs a program, and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestSize: raft v3.7.0 says of MaxSizePerMsg that 0 is for one entry per message. If nothing else
// is set, that is also the size of what may be applied at a time, and the first commit panics.
func TestSize(t *testing.T) {
	wantScreen(t, wantViolation(t, Options{
		Left: left(1, 0, 0), OneEntry: true, SameSize: true,
	}, "panic: applying entry size (0-0)=0 not positive", 5))
}

// TestMessages: what nodes send loses nothing on the way through Message.
func TestMessages(t *testing.T) {
	entry := Entry{Term: 2, Type: raftpb.EntryConfChange, Data: "x"}
	w := Message{
		Type: raftpb.MsgApp, Term: 3, LogTerm: 2, Index: 7, Commit: 6, Entries: []Entry{entry, {Term: 3}},
		Reject: true, RejectHint: 5,
	}
	m := w.toRaft(0, 2)
	again := fromRaft(m).toRaft(0, 2)
	if !proto.Equal(m, again) || m.GetTo() != 3 || m.Entries[1].GetIndex() != 9 {
		t.Errorf("%v, and then %v", m, again)
	}
}
