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
		"peers 2 100 3 / 3 / 5 0 % 0.30 0 0/2 0 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}
