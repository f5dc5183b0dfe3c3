package report

import "time"

// Test is the verdict on one test function or subtest.
type Test struct {
	Name           string // as go test prints it, e.g. "TestGet/empty"
	Verdict        Verdict
	Reason         string // one line; of Errored, lines after the first tell where
	Skipped        bool   // it skipped itself
	Executions     int    // of the search that it was part of
	Elapsed        time.Duration
	Counterexample *Counterexample // of a violation by the test itself, not by its subtests
}

// TestPackage is the tests of a package. What one of the tests assumes all of them do.
type TestPackage struct {
	Name        string // import path
	Tests       []Test // subtests before the tests that they are part of
	Error       string // why the package could not be checked to its end; "" if it was
	Elapsed     time.Duration
	Assumptions Assumptions
}
