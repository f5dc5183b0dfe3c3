package report

import (
	"os"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestRules: every kind of violation has a rule of its own, whose ID stays. A list that is kept
// elsewhere, such as of alerts that were dismissed, names the IDs.
func TestRules(t *testing.T) {
	const want = "deadlock panic exit assertion goroutine-leak data-race livelock"
	var ids []string
	for _, r := range Rules() {
		ids = append(ids, r.ID)
		if r.Name == "" || r.Title == "" ||
			!strings.HasSuffix(r.Text, ".") || !strings.HasSuffix(r.Help, ".") {
			t.Errorf("%+v is not complete", r)
		}
	}
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("the rules are %s, want %s: IDs stay, and new ones come last", got, want)
	}
	for _, r := range rules {
		for _, outcome := range r.outcomes {
			if got := RuleOf(Violation{Outcome: outcome.String()}); got != r.Rule {
				t.Errorf("%v has the rule %s", outcome, got.ID)
			}
		}
	}
	if got := RuleOf(Violation{Outcome: sut.Completed.String()}).ID; got != "violation" {
		t.Errorf("no violation has the rule %s", got)
	}
}

// TestGuideHasRules: the guide has a row for each rule.
func TestGuideHasRules(t *testing.T) {
	text, err := os.ReadFile("../docs/machines.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		if strings.Count(string(text), "\n| `"+r.ID+"` | ") != 1 {
			t.Errorf("docs/machines.md has no row for the rule %s", r.ID)
		}
	}
}
