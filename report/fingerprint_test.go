package report

import (
	"regexp"
	"testing"
)

// TestFingerprint: lines, schedules and numbers in messages make no difference, the rest does.
func TestFingerprint(t *testing.T) {
	v := Violation{Outcome: "deadlock", Message: "7 of 9", Places: []string{"lock at main.go:4"},
		Functions: []string{"lock at example.com/bank.main.func1"}}
	first := Fingerprint(v)
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(first) {
		t.Errorf("it is %q", first)
	}
	// Alerts that somebody has dismissed come back if this changes.
	if want := "80662221299ff79f9f335f67cab92293"; first != want {
		t.Errorf("it is %s, and was %s: give what it is made of another number", first, want)
	}
	for name, change := range map[string]func(*Violation){
		"lines":    func(v *Violation) { v.Places = []string{"lock at main.go:400"} },
		"numbers":  func(v *Violation) { v.Message = "12 of 0xc000" },
		"schedule": func(v *Violation) { v.Size, v.Executions = Size{3, 400}, 7 },
		"file":     func(v *Violation) { v.File, v.Counterexample = "x", new(Counterexample) },
	} {
		other := v
		if change(&other); Fingerprint(other) != first {
			t.Errorf("%s make a difference", name)
		}
	}
	for name, change := range map[string]func(*Violation){
		"kind":    func(v *Violation) { v.Outcome = "livelock" },
		"message": func(v *Violation) { v.Message = "7 or 9" },
		"function": func(v *Violation) {
			v.Functions = []string{"lock at example.com/bank.main.func2"}
		},
		"number":             func(v *Violation) { v.Functions = append([]string{"a"}, v.Functions...) },
		"where one ends":     func(v *Violation) { v.Message, v.Functions = "7 of 9\n"+v.Functions[0], nil },
		"no functions known": func(v *Violation) { v.Functions = nil },
	} {
		other := v
		if change(&other); Fingerprint(other) == first {
			t.Errorf("%s makes no difference", name)
		}
	}
	moved := Violation{Outcome: "deadlock", Places: []string{"lock at main.go:4"}}
	before := Fingerprint(moved)
	if moved.Places = []string{"lock at main.go:5"}; Fingerprint(moved) != before {
		t.Error("without functions, lines make a difference")
	}
	if moved.Places = []string{"lock at ../bank/main.go:4"}; Fingerprint(moved) != before {
		t.Error("where the check was started makes a difference")
	}
}
