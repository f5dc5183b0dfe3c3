package scripts

import (
	"os"
	"regexp"
	"testing"
)

// TestReadmeNamesWhatComesFirst: the README has a command that installs what the two commands need.
// The journeys of scripts/roots begin with it in a bare root, so it is also enough.
func TestReadmeNamesWhatComesFirst(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ *apt-get .*install .*\bmake\b`).Match(readme) {
		t.Error("README.md has no line that begins with apt-get and installs make")
	}
}
