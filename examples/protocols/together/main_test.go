package main

import (
	"io"
	"strings"
	"testing"
)

// TestAlone: started by itself, the program checks its models, and says what is wrong with a name.
func TestAlone(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-memory", "500", "twophase:3", "faulty:1"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"twophase:3: holds, 288 states, 1601 transitions, depth 10",
		"faulty:1: violated",
		"Accepted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
	for _, names := range [][]string{nil, {"other"}, {"-other"}} {
		if err := run(names, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
}
