package check

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
	"github.com/tandem-mc/tandem/sut"
)

// textsOf are programs of the gallery whose whole reports are kept, with what each is an example
// of.
var textsOf = []string{
	"ab-ba",                // two locks, each with its holder
	"read-write-read",      // one that is held for reading, and a writer that waits
	"flag-without-lock",    // Broadcast, and Wait of a condition
	"missing-done",         // Done, and a counter
	"stop-then-drain",      // Sleep, a select, and a timer
	"merge-never-ends",     // a select whose channels are nil
	"room-for-one-error",   // a channel with a buffer, which is full
	"timeout-leak",         // a leak
	"work-after-stop",      // an assertion
	"check-then-close",     // a panic, and the order that led to it
	"pipe-not-closed",      // a goroutine that waits in a library
	"race-unlocked-getter", // a data race
}

// What differs from one machine, or one version of Go, to the next.
var (
	placeInGo = regexp.MustCompile(`\S+/src/(\S+\.go):\d+`)
	address   = regexp.MustCompile(`0x[0-9a-f]+`)
)

// TestTexts: the reports of a number of programs are as the files in testdata/texts have them.
func TestTexts(t *testing.T) {
	p, err := buildProgram("../examples/gallery", filepath.Join(tree, "texts"), sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range textsOf {
		t.Run(name, func(t *testing.T) {
			result := check(t, Options{Program: p, Args: []string{name}, Search: untilViolation(dporSearch()),
				Leaks: name == "timeout-leak"})
			if len(result.Violations) != 1 {
				t.Fatalf("%+v", result.Verdict)
			}
			c := *result.Violations[0].Counterexample
			c.Run = report.Run{Package: "./examples/gallery", Args: []string{name}, Verdict: report.Violated}
			var told bytes.Buffer
			if err := text.Write(&told, &c, report.Options{}); err != nil {
				t.Fatal(err)
			}
			shown := placeInGo.ReplaceAll(told.Bytes(), []byte("GOROOT/src/$1:N"))
			golden.Equal(t, "texts/"+name+".txt", string(address.ReplaceAll(shown, []byte("ADDRESS"))))
		})
	}
}
