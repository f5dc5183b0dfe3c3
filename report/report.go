// Package report shows people what a check has found: a counterexample as a schedule with the
// network messages in between, or the summary of a search. It also keeps counterexamples in files
// that can be replayed. It knows nothing of how a search works.
//
// What it is given comes from the SUT and its peers and may hold any bytes: control characters
// are shown, not sent to the terminal, and everything that is printed has a bound. All functions
// may be called at the same time from several goroutines.
package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Unknown always has a reason: the bound or budget that ended the search. Errored
// is that of a test which could not be checked, with the reason; the error of a check as a whole
// has no verdict.
const (
	Holds    Verdict = "holds"
	Violated Verdict = "violated"
	Unknown  Verdict = "unknown"
	Errored  Verdict = "error"
)

// Run is a check as a whole: what was checked, the verdict, and what it rests on.
type Run struct {
	// Package is as it was given to tandem, such as "./examples/scpto". Args are the program's.
	Package string
	Args    []string
	// Nodes are the programs, if several were checked together. Package is then the directory from
	// which theirs are seen, and executions are those of single nodes.
	Nodes []Node
	// Beside is the name of real peers beside the nodes, as steps have it; empty: there are none.
	Beside  string
	Verdict Verdict
	// Reason is one line: what ended the search.
	Reason string
	// Details are more of what the search can tell, a line each.
	Details []string
	// CutOff says which limits cut executions off, and where the first one was of each, a line
	// each.
	CutOff      string
	Counts      Counts
	Assumptions Assumptions
	Missed      Missed
	// ResumeCommand is how to go on with a search that has not ended; empty: that cannot be done.
	ResumeCommand string
}

// Counts says how much work a search was. Inputs are what the program gives to the peers: connects,
// sends, closes, time that passes.
type Counts struct {
	Executions int
	Phases
	// Limited is how many of them were cut off by a limit. Redundant is how many were given up,
	// since another one covers them.
	Limited   int
	Redundant int
	// Transitions are those of all executions together.
	Transitions int
	// SelfChecked is how many executions were run again to see that they are the same.
	SelfChecked int
	Elapsed     time.Duration

	// CacheHits is how many inputs the I/O cache answered, CacheMisses how many the peers had to.
	CacheHits   int
	CacheMisses int
	// ReadInputs is after how many inputs the peers had read the time or random numbers; Reads says
	// what, and how often.
	ReadInputs int
	Reads      string
	// Uninstrumented are the processes of the peers of which that is not known, and why.
	Uninstrumented []string
	// Waits is how often the peers were waited for until they were quiescent. It took Cuts looks
	// at them, and these CutTime in all. Quiescence is how that is told: procfs, ebpf.
	Waits, Cuts int
	CutTime     time.Duration
	Quiescence  string

	CheckpointCounts
	NodesCounts
}

// Phases says what the parts of a search that is a portfolio have done: executions. All is zero for
// other searches.
type Phases struct {
	Systematic, Aimed, Sampled int
	// CutOff is how many of the systematic ones were.
	CutOff int
	// FirstViolation is the first execution that is one; 0: there is none.
	FirstViolation int
}

// CheckpointCounts says how often the peers were saved and taken back.
type CheckpointCounts struct {
	// Checkpoints are physical ones. InMemory is how many of them CRIU was not needed for; Refusal
	// is why it was, if it was to do without.
	Checkpoints int
	InMemory    int
	Refusal     string
	// Unstored is how many checkpoints could not be kept, WhyUnstored the reason of the first.
	Unstored    int
	WhyUnstored string
	// MadeRoom is how many checkpoints were dropped for others, which together may take Room bytes
	// of memory.
	MadeRoom int
	Room     int64
	// Skipped is how many checkpoints were not tried, since something waited that they cannot
	// hold: WhySkipped says what that was first.
	Skipped    int
	WhySkipped string
	// Killed is how often the peers were lost, as if they had been killed, and brought back.
	// WhyKilled is what is known of the first time.
	Killed    int
	WhyKilled string
	// Disturbed is how many inputs were given again, since a timer of the peers had ended too
	// early.
	Disturbed int
	// Restores is how often the peers were taken back, Replayed how many inputs were then given to
	// them again.
	Restores int
	Replayed int
}

// Missed is who was not there in the executions: whom the program dialled, and who could have
// connected to it.
type Missed struct {
	Dialled   []Dial
	Clients   []string // addresses at which the program waits for clients
	Configure []string // what adds these peers, as lines of the configuration
	// Undialled are the entries of absent in the configuration that no execution dialled, or looked
	// up. So whoever wrote them may have meant something else.
	Undialled []string
}

// Notes are lines that say what was never dialled though the configuration names it.
func (m Missed) Notes() (lines []string) {
	for _, entry := range m.Undialled {
		// Names are the only entries without a colon.
		if strings.Contains(entry, ":") {
			lines = append(lines, "absent: "+entry+" was never dialled: a misspelt address?")
		} else {
			lines = append(lines, "absent: "+entry+" was never looked up: a misspelt name?")
		}
	}
	return lines
}

// Dial is an address that the program has dialled, or a name that it has looked up, and where no
// peer is configured.
type Dial struct {
	Address string // 127.0.0.1:6379, udp:127.0.0.1:53, unix:/run/socket; or db.example.com
	IsName  bool
	Result  string // what the program got: "connection refused"
}

// Assumptions is what a verdict rests on besides the bounds.
type Assumptions struct {
	// Strategy says when physical checkpoints are taken, such as "after-io"; Backend what takes
	// them, such as "auto".
	Strategy string
	// Scope is that of the I/O cache, such as "group".
	Scope   string
	Backend string
	// Preemptible are the packages in which goroutines are preempted; the others are sealed.
	Preemptible []string
	// Other has what else there is, one line each.
	Other []string
}

// Counterexample is one execution that violates what was checked.
type Counterexample struct {
	Run        Run
	Race       *Race // if the failure is a data race
	Failure    Failure
	Goroutines []Goroutine
	Steps      []Step // in the order of execution
	// Inputs are the steps in which the peers were given an input, in order: indices in Steps.
	Inputs []int
	// Cache is the I/O cache around the execution; nil: it is not known.
	Cache *CacheTree
	// Sources are the parts of source files that the places in it are in.
	Sources []SourcePart
	// Outputs are what the program and the peers wrote to standard output and error, in order.
	// Those of no known step come last. Unheard says that the peers may have written more.
	Outputs []Output
	Unheard bool
	// PeerTimer is one of the peers that was set in the end; nil: none is known.
	PeerTimer *PeerTimer
	// Shrunk says how it was made simpler than it was found; nil: it is as found, or as recorded.
	Shrunk        *Shrinking
	ReplayCommand string
	// Schedule is what tandem.Replay takes; empty: it would be too long to print.
	Schedule Schedule
	// Summary is the same in short. Its Counterexample is nil.
	Summary Violation
	// Begins is where the main function begins, in the words of a step.
	Begins string
	// Files are the files of which places are named: the name there, without the line, and the
	// path. The path is absolute; after RelativeTo it is relative.
	Files map[string]string
	// Led are the accesses to one object that led to the failure, in their order: those of the
	// goroutine that fails, and what others did in between. It is empty where there is no such
	// object.
	Led []Access
}

// Access is what a goroutine did to an object, in a step or in several one after the other.
type Access struct {
	First, Last int // indices in Steps
	Lines       []SourceLine
	Caller      Frame // the call around it in the user's own code, with its line; zero if unknown
}

// SourceLine is a line of the source.
type SourceLine struct {
	Number int
	Text   string // without blanks around it
}

// Failure is how a violating execution ended. The zero value says nothing. Headline and String put
// its parts together.
type Failure struct {
	Kind    model.Outcome
	Message string // several lines: a panic with its stack, or who is deadlocked
	Status  int    // of an exit; 0 if a signal ended the program
	Printed string // by the program before it ended; lines, without the end of the last one
	Said    string // the line of an exit's Printed that says most; "": the first one
	// Goroutine is the name of the one that failed, and Stack its calls when it did. They are known
	// of panics and assertions.
	Goroutine string
	Stack     []Frame
	// Peer says that a peer died, and what it printed last: "dropbear died: Failed assertion".
	Peer string
}

// String is the failure in lines, with what was printed before.
func (f Failure) String() string {
	switch {
	case f.Printed == "":
		return f.Message
	case f.Kind == model.Exited: // the program itself has said why
		return f.Message + "\n" + f.Printed
	}
	return f.Message + "\n\nprinted before:\n" + f.Printed
}

// Headline is what is wrong, in a line. Of an exit, what was printed says more than its status.
func (f Failure) Headline() string {
	line, _, _ := strings.Cut(f.Message, "\n")
	said, _, _ := strings.Cut(strings.TrimLeft(cmp.Or(f.Said, f.Printed), " \t\n"), "\n")
	if said != "" && f.Status != 0 {
		line += ": " + said
	}
	if f.Peer != "" {
		line = f.Peer + "; " + line
	}
	return line
}

// SourcePart is some lines of a source file.
type SourcePart struct {
	File  string // as in places: "main.go" of "main.go:42"
	First int    // the number of the first line
	Lines []string
}

// PeerTimer is a timer of a peer that was not waited for.
type PeerTimer struct {
	Peer string
	Due  time.Duration // how long it was until then
}

// Shrinking tells how a counterexample was made simpler.
type Shrinking struct {
	Executions    int // that it took
	Before, After Size
}

// Size is how complicated a schedule is. The simplest counterexample has the fewest preemptions,
// and of these the fewest transitions.
type Size struct {
	Preemptions int // switches away from a goroutine that could have gone on
	Transitions int
}

// Violation is a counterexample in short: what tells it apart from others.
type Violation struct {
	Outcome    string   // "deadlock", "data race"
	Message    string   // one line, of a panic or an assertion; empty if there is none
	Places     []string // "lock at main.go:42"
	Functions  []string // of the places: "lock at example.com/bank.transfer"
	Executions int      // in how many it was seen; 0: not counted
	Size       Size
	File       string // that the counterexample is kept in
	// Node is the one of several programs that has it, and Network what all of them do to each
	// other until then, in an order that is possible. Unkept is why there is no file.
	Node    string
	Network []NodeStep
	Unkept  string
	// nil: only what is here is known
	Counterexample *Counterexample
}

// Goroutine is one goroutine of a counterexample.
type Goroutine struct {
	ID       int    // what Step.Goroutine refers to
	Name     string // its place in the spawn tree: "main", "main/1" is the first that main started
	Created  string // where it was started, "file:line"; empty for main
	Function string // the function it runs, with its package
	Blocked  string // what it waits for at the end of the execution; empty if nothing
	Stack    []Frame
	// Objects say what the objects are that it waits for: "channel 4: chan error, cap 1, full, made
	// at main.go:21".
	Objects []string
	// Library says that the goroutine was started by a library, is in no call of the user's own
	// code, and waits for no lock that another one holds: it only waits for the next call.
	Library bool
}

// Race is a data race: two accesses to the same memory that nothing orders.
type Race struct{ Later, Earlier MemoryAccess }

// MemoryAccess is one access of a data race. The later one is that at which the race was found, and
// the earlier one was noted when it was done.
type MemoryAccess struct {
	Operation string // "read", "write", "atomic read", "atomic write"
	Address   uint64
	Size      int // bytes; 0: not known
	Goroutine Goroutine
	Stack     []Frame // innermost call first
}

// Frame is a call on a stack.
type Frame struct {
	Function string // with its package
	Source   string // "main.go:42"
	Own      bool   // it is in the user's module, or where goroutines are preempted
	Text     string // the line of the source; known of the innermost call that is Own
}

// Kind is the kind of operation a step is.
type Kind string

// The kinds of operations. Long stretches of synchronisation and channel operations are folded in
// print, the others never.
const (
	Synchronisation Kind = "synchronisation" // mutexes, atomics, wait groups
	Channel         Kind = "channel"
	Lifetime        Kind = "lifetime" // start and exit of goroutines
	Timer           Kind = "timer"
	Socket          Kind = "socket"
	Choice          Kind = "choice"
)

// Clock is the goroutine of a step in which time passes.
const Clock = -1

// Step is one visible operation.
type Step struct {
	Goroutine int
	Operation string  // "lock", "send on channel"
	Object    string  // "mutex 3"; may be empty
	Source    string  // "main.go:42"
	Function  string  // that contains Source, with its package
	Stack     []Frame // the calls that are known, innermost first: the operation, the user's own call
	Kind      Kind
	IO        []Message // what went over the network in this step, in order
	// if the peers were restored for this step: which, from what, and how much was replayed
	Restored string
	Cached   bool // IO was answered by the I/O cache; otherwise by the peers
	Preempts bool // the goroutine that ran before could have gone on
	// Library is the package that the operation is in, if that is not the user's.
	Library string
	Key     bool // the failure is about this step, so it is always shown
}

// Output is what the program or a peer wrote in a step. Of the program itself the peer is empty. A
// step of -1 is not known.
type Output struct {
	Step int // index in Steps
	Wrote
}

// Message is what was sent in one direction of a connection at once, or what happened to it.
// Several messages of a step are in the order in which they were seen.
type Message struct {
	Conn   int
	About  string // not a connection, but a listener, or a peer
	ToPeer bool
	Data   []byte
	Event  string // after Data: "end of stream", "reset", "refused"; empty if nothing
	// Datagram says that Data, which may be empty, is a message of its own and no part of a
	// stream. Address is that of its receiver or sender where the socket has several.
	Datagram bool
	Address  string
}

// Options say how text is written. The zero value is for files and pipes.
type Options struct {
	Color   bool // use ANSI colours
	Unfold  bool // show every step, however many there are
	Verbose bool // show how the search and the peers were run, too
}

// Size is how complicated the schedule is. The time that passes is a transition, too.
func (c *Counterexample) Size() (s Size) {
	s.Transitions = len(c.Steps)
	for _, step := range c.Steps {
		if step.Preempts {
			s.Preemptions++
		}
	}
	return s
}

// String is "1 preemption in 88 transitions".
func (s Size) String() string {
	return textutil.CountOf(s.Preemptions, "preemption") + " in " +
		textutil.CountOf(s.Transitions, "transition")
}

// String says how much simpler the counterexample has become. Executions that it took are named in
// any case.
func (s Shrinking) String() string {
	in := textutil.CountOf(s.Executions, "execution")
	if s.Before == s.After {
		return "no simpler schedule was found in " + in
	}
	return fmt.Sprintf("shrunk from %s, in %s", s.Before, in)
}

// Program is what was checked, as a shell takes it. It is not made printable yet.
func (r Run) Program() string {
	program := r.Package
	for _, arg := range r.Args {
		program += " " + textutil.QuoteArg(arg)
	}
	return program
}

// Printable replaces what a terminal would act on by its escape sequence in Go, but for the ends of
// lines and tabs. Errors name files of the peers, and what recordings of others hold.
func Printable(text string) string { return words.PrintableText(text) }

// Line makes one line of a text, with a blank for everything that a terminal could act on.
func Line(text string) string { return words.Line(text) }
