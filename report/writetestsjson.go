package report

import "io"

// testsDocument is what WriteTestsJSON writes. It is told apart from document by its packages.
type testsDocument struct {
	Version     int                `json:"version"`
	Verdict     Verdict            `json:"verdict"`
	Packages    []packageElement   `json:"packages"`
	Unchecked   []uncheckedElement `json:"unchecked,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"`
}

// packageElement is the tests of a package. A package that does not build has an error and no
// tests, and assumes nothing.
type packageElement struct {
	Name    string          `json:"name"`
	Error   string          `json:"error,omitempty"`
	Seconds float64         `json:"seconds"`
	Assumed *assumedElement `json:"assumed,omitempty"`
	Missed  *missedElement  `json:"missed,omitempty"`
	// As in document.
	Undialled []string      `json:"absent_not_dialled,omitempty"`
	Tests     []testElement `json:"tests"`
}

// testElement is a test or subtest.
type testElement struct {
	Name       string             `json:"name"`
	Verdict    Verdict            `json:"verdict"`
	Reason     string             `json:"reason,omitempty"`
	Note       string             `json:"note,omitempty"`
	Skipped    bool               `json:"skipped,omitempty"`
	Executions int                `json:"executions"`
	Seconds    float64            `json:"seconds"`
	Violations []violationElement `json:"violations"`
}

// uncheckedElement is a package of which nothing was checked.
type uncheckedElement struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// WriteTestsJSON writes the results of tests as one JSON document, by the same schema as WriteJSON.
// Violations have the same form there. The error is the writer's. The list of packages is there
// when it is empty, too, and so are the tests and violations in it.
func WriteTestsJSON(w io.Writer, run TestRun) error {
	d := testsDocument{Version: documentVersion, Verdict: run.Verdict(), Packages: []packageElement{},
		Interrupted: run.Interrupted}
	for _, p := range run.Packages {
		d.Packages = append(d.Packages, packageOf(p))
	}
	for _, u := range run.Unchecked {
		d.Unchecked = append(d.Unchecked, uncheckedElement{valid(u.Name), valid(u.Reason)})
	}
	return encodeDocument(w, d)
}

// packageOf is the tests of a package in JSON.
func packageOf(p TestPackage) packageElement {
	missed := p.Missed()
	e := packageElement{Name: valid(p.Name), Error: valid(p.Error), Seconds: p.Elapsed.Seconds(),
		Missed: missedOf(missed), Undialled: validAll(missed.Undialled), Tests: []testElement{}}
	// Whatever is checked, something is preempted, and something is assumed of data races.
	if len(p.Assumptions.Preemptible)+len(p.Assumptions.Other) > 0 {
		assumed := assumedOf(p.Assumptions)
		e.Assumed = &assumed
	}
	for _, t := range p.Tests {
		one := testElement{Name: valid(t.Name), Verdict: t.Verdict, Reason: valid(t.Reason),
			Note: valid(t.Note), Skipped: t.Skipped, Executions: t.Executions, Seconds: t.Elapsed.Seconds(),
			Violations: []violationElement{}}
		for _, v := range t.Violations {
			one.Violations = append(one.Violations, violationOf(v))
		}
		e.Tests = append(e.Tests, one)
	}
	return e
}
