package main

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/lint/internal/house"
)

// TestPrint: every measure has a row with the value before, the value now, and what is wanted.
func TestPrint(t *testing.T) {
	var out strings.Builder
	h := &house.House{Packages: []*house.Package{
		{Dir: "peers", Files: 2, Lines: 100, Functions: []int{3, 5}, TestLines: 30},
		{Dir: "internal/testkit", Files: 1, TestLines: 20},
	}}
	if err := print(&out, h); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tests : code 0.76 0.50 >= 1",
		"tests : code: many tests are scripts", "comment lines: no reason is given.",
		"peers 2 100 3 / 3 / 5 0 % 0.30 0 0/2 0 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

// TestIsReached: a wish in numbers is compared with the first number of the value.
func TestIsReached(t *testing.T) {
	for _, c := range []struct {
		value, wanted string
		reached       bool
	}{
		{"0.88", ">= 1", false}, {"1.00", ">= 1", true}, {"1.13", ">= 1", true},
		{"11", "<= 15", true}, {"16", "<= 15", false}, {"22 (check)", "<= 25", true},
		{"0", "0", true}, {"3", "0", false}, {"1 (check 10/30)", "0", false},
		{"14 %", "15-20 %", false}, {"15 %", "15-20 %", true}, {"21 %", "15-20 %", false},
		{"10 / 27 / 61", "keep", true}, {"98; 440 / 2937", "none above 4000", true},
	} {
		if got, err := isReached(c.value, c.wanted); got != c.reached || err != nil {
			t.Errorf("%s, wanted %s: %v, %v", c.value, c.wanted, got, err)
		}
	}
	if _, err := isReached("-", ">= 1"); err == nil {
		t.Error("a value without a number is compared")
	}
}
