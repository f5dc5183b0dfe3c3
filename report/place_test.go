package report

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func located() *Counterexample {
	c := &Counterexample{Files: map[string]string{
		"bank/main.go": "/src/cmd/bank/main.go", "bank/main_test.go": "/src/cmd/bank/main_test.go",
		"a/x.go": "/src/a/x.go", "b/x.go": "/src/b/x.go", "c/y.go": "", "d/y.go": "/src/d/y.go",
		"sync/mutex.go": "/usr/local/go/src/sync/mutex.go", "src2/z.go": "/src2/z.go",
	}}
	c.RelativeTo("/src")
	return c
}

// TestPlace: a text that ends with a place of the tree has that, and nothing else has one.
func TestPlace(t *testing.T) {
	c := located()
	for text, want := range map[string]Place{
		"bank/main.go:7":                    {"cmd/bank/main.go", 7},
		"lock (mutex 2) at bank/main.go:16": {"cmd/bank/main.go", 16},
		"main_test.go:9":                    {"cmd/bank/main_test.go", 9},
		"d/y.go:1":                          {"d/y.go", 1},
		"x.go:7":                            {}, // of two files
		"c/y.go:1":                          {}, // of two files, too
		"sync/mutex.go:3":                   {}, // not of the tree
		"src2/z.go:3":                       {}, // not of the tree, though it begins like that
		"bank/main.go":                      {},
		"bank/main.go:":                     {},
		"bank/main.go:0":                    {},
		"bank/main.go:-1":                   {},
		"bank/main.go:1x":                   {},
		"other.go:3":                        {},
		"":                                  {},
		":1":                                {},
	} {
		got, ok := c.Place(text)
		if ok != (want != Place{}) || ok && got != want {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
	if _, ok := new(Counterexample).Place("bank/main.go:7"); ok {
		t.Error("a place is known although no file is")
	}
}

// TestWhere: the later access of a race comes first; the last step counts only without places.
func TestWhere(t *testing.T) {
	c := located()
	c.Steps = []Step{{Source: "bank/main.go:1"}, {Source: "a/x.go:2"}, {Source: "sync/mutex.go:3"}}
	v := Violation{Places: []string{"nowhere", "lock at b/x.go:5", "lock at b/x.go:5"}, Counterexample: c}
	check := func(want ...Place) {
		t.Helper()
		if got := v.Where(); !slices.Equal(got, want) {
			t.Error(cmp.Diff(want, got))
		}
	}
	check(Place{"b/x.go", 5})
	c.Race = &Race{
		Later: MemoryAccess{Stack: []Frame{{Source: "sync/mutex.go:1"}, {Source: "d/y.go:8"},
			{Source: "d/y.go:9"}}},
		Earlier: MemoryAccess{Stack: []Frame{{Source: "bank/main.go:4"}}},
	}
	check(Place{"d/y.go", 8}, Place{"cmd/bank/main.go", 4}, Place{"b/x.go", 5})
	c.Race, v.Places = nil, nil
	check(Place{"a/x.go", 2})
	c.Steps, c.Begins = nil, "bank/main.go:5"
	check(Place{"cmd/bank/main.go", 5})
	c.Files = nil
	check()
	v.Counterexample = nil
	check()
}
