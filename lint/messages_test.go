package lint

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/advice"
	"github.com/tandem-mc/tandem/lint/internal/messages"
)

var updateErrors = flag.Bool("update-errors", false, "write docs/errors.md anew")

// errorsFile lists the messages.
const errorsFile = "../docs/errors.md"

// roomsWithErrors are those whose errors a command can end with.
var roomsWithErrors = []string{"cmd/tandem", "configs", "check", "report", "distribute", "doctor",
	"strategy", "peers", "sut", "ckptd", "proxy", "explore", "iocache", "internal"}

// ownAdvice are the files and packages whose messages are about what the user has given: flags,
// files, programs, descriptions of peers. Such a message has advice of its own.
var ownAdvice = []string{"cmd/tandem", "cmd/tandem/internal/man", "configs", "doctor", "strategy", "check",
	"peers", "report", "check/internal/saved", "check/internal/fingerprint",
	"sut/internal/toolchain/build.go", "sut/decode.go", "proxy/internal/protocol/address.go"}

// otherAdvice are messages of these files that have no advice in their text, and why none is
// missing.
var otherAdvice = map[string]string{
	"%s of go test is not a flag of tandem test: %s": "the message says what to use instead",
	"the program takes too long":                     "not shown: it is the cause of another message",
	"exit code %d":                                   "not shown: the verdict is",
	"the results could not be written":               "what the system says comes with the advice for that",
	"there is no such key%s":                         "the message says which keys there are",
	"too many files":                                 "not shown: such a directory is told by its date",
	"the time of %v is over":                         "not shown as an error: it is the reason of a verdict",
	"the time for shrinking is over":                 "not shown: what is known by then is",
	"no tests to run":                                "no error: a line says so",
	"a path on %v":                                   betweenProcesses,
	"an IP address on %v":                            betweenProcesses,
	"an address of %d bytes":                         betweenProcesses,
	"an address of %v with flags %#x":                betweenProcesses,
	"the address %v with flags %#x":                  betweenProcesses,
	"no test files":                                  "no error: a line says so",
	"what the peers have answered since the last save takes more than %d bytes": "no error: the check " +
		"goes on",
	"the state of the search has %d bytes, and at most %d can be saved": "no error: the check " +
		"goes on",
}

// betweenProcesses is of messages about what processes of Tandem tell each other.
const betweenProcesses = "general"

// partsOf are the files whose messages are parts of one message, which has the advice for them.
var partsOf = map[string]string{
	"report/cachetree.go":      "load recording %s: %w; name another file, or make it again by a check",
	"report/recording.go":      "load recording %s: %w; name another file, or make it again by a check",
	"report/nodesrecording.go": "load recording %s: %w; name another file, or make it again by a check",
	"report/pauses.go":         "load recording %s: %w; name another file, or make it again by a check",
	"report/schedule.go":       "the schedule: %w; give one that this Tandem has printed",
}

// fixed are files of these packages whose messages are about what comes with Tandem. A test of that
// would find them before a user does.
var fixed = []string{"peers/recipe.go"}

// TestErrors: each error that a command can end with is listed in docs/errors.md, with the advice
// that it gives. What the user can mend has advice of its own, and everything else a general one,
// which the command adds.
func TestErrors(t *testing.T) {
	all, err := messages.Read("..", roomsWithErrors...)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Fatalf("there are %d messages only", len(all))
	}
	used, whole := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		whole[m.Text] = true
		if !isOwn(m) || m.Advice != "" || m.Wraps {
			continue
		}
		if used[m.Text] = true; partsOf[m.File] == "" && otherAdvice[m.Text] == "" {
			t.Errorf("%s: %q says not what to do: add that, after a colon or a semicolon", m.File, m.Text)
		}
	}
	for text := range otherAdvice {
		if !used[text] {
			t.Errorf("there is no message %q any more", text)
		}
	}
	for file, text := range partsOf {
		if !whole[text] || advice.In(text) == "" {
			t.Errorf("messages of %s are not parts of %q, or that has no advice", file, text)
		}
	}
	text := errorsDocument(all)
	if *updateErrors {
		if err := os.WriteFile(errorsFile, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(errorsFile); err != nil || string(was) != text {
		t.Errorf("docs/errors.md is outdated, error %v: run go test ./lint -run TestErrors -update-errors, "+
			"and commit it", err)
	}
}

// errorsHead is the beginning of docs/errors.md. The commands add the general advice: see package
// advice.
const errorsHead = "# Error messages\n\n" +
	"The errors that a command can end with, and what to do. The list is made from the source:\n" +
	"`go test ./lint -run TestErrors -update-errors`. Percent signs stand for values.\n\n" +
	"Messages that only add a place to another one are left out. *General* messages are about the\n" +
	"inside of Tandem. The command adds advice to them: by the error of the system, such as a full\n" +
	"disk, or else this:\n\n    " +
	advice.Inner + "\n"

// isOwn reports whether a message has to have advice of its own.
func isOwn(m messages.Message) bool {
	return !slices.Contains(fixed, m.File) &&
		(slices.Contains(ownAdvice, m.File) || slices.Contains(ownAdvice, path.Dir(m.File)))
}

// errorsDocument is the list of messages, as Markdown. Messages that only say where another one was
// met are left out: the other one is listed.
func errorsDocument(all []messages.Message) string {
	var b strings.Builder
	b.WriteString(errorsHead)
	for _, room := range roomsWithErrors {
		fmt.Fprintf(&b, "\n## %s\n\n| message | what to do | in |\n|---|---|---|\n", room)
		for _, m := range all {
			if !strings.HasPrefix(m.File, room+"/") || m.Wraps && m.Advice == "" {
				continue
			}
			what := m.Advice
			switch {
			case what == "" && isOwn(m):
				what = cmp.Or(otherAdvice[m.Text], advice.In(partsOf[m.File]))
			case what == "":
				what = "general"
			}
			file := strings.TrimPrefix(m.File, room+"/")
			if path.Dir(m.File) != room {
				file = path.Dir(file) + "/ " + path.Base(file)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(m.Text), cell(what), cell(file))
		}
	}
	return b.String()
}

// cell is a text as it can stand in a table of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`).Replace(text)
}
