package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestFingerprintsOfSource: a line that is put in front of everything changes the places of a
// violation, and not its fingerprint. Places are those of files that are there.
func TestFingerprintsOfSource(t *testing.T) {
	const source = `package main

import "sync"

func main() {
	var a, b sync.Mutex
	done := make(chan bool)
	go func() {
		b.Lock()
		a.Lock()
		a.Unlock()
		b.Unlock()
		close(done)
	}()
	a.Lock()
	b.Lock()
	b.Unlock()
	a.Unlock()
	<-done
}
`
	dir := t.TempDir()
	prints := map[string]bool{}
	for _, before := range []string{"", "\n\n// A comment.\n"} {
		for name, text := range map[string]string{
			"go.mod": "module example.com/two\n\ngo 1.25\n", "main.go": before + source,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		toolchain, err := newToolchain()
		if err != nil {
			t.Fatal(err)
		}
		p, err := toolchain.Build(t.Context(), sut.BuildOptions{Dir: dir, Package: ".",
			Output: filepath.Join(t.TempDir(), "two.sut")})
		if err != nil {
			t.Fatal(err)
		}
		v := check(t, Options{Program: p, Search: dporSearch()}).Violations[0].Summary
		prints[report.Fingerprint(v)] = true
		v.Counterexample.RelativeTo(dir)
		want := fmt.Sprint([]report.Place{{File: "main.go", Line: 10 + strings.Count(before, "\n")},
			{File: "main.go", Line: 16 + strings.Count(before, "\n")}})
		if got := fmt.Sprint(v.Where()); got != want {
			t.Errorf("%v: it is at %s, want %s", v.Places, got, want)
		}
	}
	if len(prints) != 1 {
		t.Errorf("the fingerprints are %v", prints)
	}
}

// TestRulesOfViolations: exactly the outcomes that are violations have a rule.
func TestRulesOfViolations(t *testing.T) {
	violations := 0
	for outcome := range sut.Outcome(64) {
		judged, err := translate.Outcome(&sut.Log{Outcome: outcome})
		isViolation := err == nil && judged.Violation()
		if isViolation {
			violations++
		}
		rule := report.RuleOf(report.Violation{Outcome: outcome.String()}).ID
		if isViolation != (rule != "violation") {
			t.Errorf("%v is a violation: %t, and has the rule %s", outcome, isViolation, rule)
		}
	}
	if violations < len(report.Rules()) {
		t.Errorf("only %d outcomes are violations", violations)
	}
}
