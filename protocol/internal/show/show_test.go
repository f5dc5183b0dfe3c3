package show

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

type phase int

func (p phase) String() string { return [...]string{"idle", "busy"}[p] }

type node struct {
	Phase  phase
	Voters map[int]bool
	log    []entry
	next   *node
	raw    []byte
	any    any
}

type entry struct{ term, value int }

func TestValue(t *testing.T) {
	n := &node{Phase: 1, Voters: map[int]bool{10: true, 9: true}, log: []entry{{1, 2}}, raw: []byte("x"),
		any: entry{}}
	n.next = &node{next: n}
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "nil"}, {"a\n", `"a\n"`}, {struct{ N int }{}, "{N:0}"}, {entry{1, 0}, "entry{term:1}"},
		{&n.Phase, "busy"}, {make([]bool, 17), "[false false false false false false false false false " +
			"false false false false false false false ... 1 more]"},
		{n, `node{Phase:busy Voters:{9:true 10:true} log:[{term:1 value:2}] next:{next:{Phase:... ` +
			`Voters:... log:... next:... raw:... any:...}} raw:"x" any:entry{}}`},
	} {
		if got := Value(c.value); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestChanges(t *testing.T) {
	a := &node{Voters: map[int]bool{1: true, 2: true}, log: []entry{{1, 1}, {1, 2}}, any: 1}
	b := &node{Phase: 1, Voters: map[int]bool{1: false, 3: true}, log: []entry{{1, 1}, {2, 2}}, any: "1"}
	a.next, b.next = a, b
	want := []string{"Phase: idle -> busy", "Voters[1]: true -> false", "Voters[2]: true -> -",
		"Voters[3]: - -> true",
		"log[1].term: 1 -> 2", `any: 1 -> "1"`}
	if got := Changes(a, b); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := Changes(a, a); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := Changes(make([]int, 3), []int{1, 2, 3, 4}); len(got) != 1 {
		t.Errorf("%q", got)
	}
	long := make([]int, 100)
	for i := range long {
		long[i] = i + 1
	}
	if got := Changes(make([]int, 100), long); len(got) != maxChanges || got[maxChanges-1] != "and 89 "+
		"more changes" {
		t.Errorf("%q", got)
	}
}

func TestChart(t *testing.T) {
	got := Chart([]string{"client", "a", "a very long name indeed"}, []Step{
		{Node: 0, Text: "ask", Notes: []string{"state: 0 -> 1"}},
		{Node: 2, From: []int{0}, Text: "Question"},
		{Node: 0, From: []int{2, 1}, Text: "two answers"},
		{Node: 1, From: []int{0}, Lost: true, Text: "Question is lost"},
		{Node: 1, From: []int{1}, Text: "to itself"},
	})
	want := `      client          a               a very long na
   1  *               |               |               ask
      |               |               |                 state: 0 -> 1
   2  +------------------------------>*               Question
   3  *<--------------+---------------+               two answers
   4  +-------------->x               |               Question is lost
   5  |               *<-             |               to itself
`
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// TestFold: a folded chart has two lines for each step at most, and its lines have a bound. What is
// cut says so; what is short is behind its step, with all of it.
func TestFold(t *testing.T) {
	long := strings.Repeat("Log: [] -> [1] ", 20)
	steps := []Step{
		{Node: 0, Text: "ask", Notes: []string{"state: 0 -> 1", "sends Question to a, b"}},
		{Node: 2, From: []int{0}, Text: "Question"},
		{Node: 1, Text: "Answer", Notes: []string{long, "Term: 1 -> 2", long, long}},
		{Node: 1, Text: long},
	}
	got := Fold([]string{"client", "a", "b"}, steps)
	want := `      client  a       b
   1  *       |       |       ask  (state: 0 -> 1; sends Question to a, b)
   2  +-------------->*       Question
   3  |       *       |       Answer
      |       |       |           (Log: [] -> [1] Log: [] -> [1] Log: [] -> [1] Log: [] ->  ...; ` +
		`Term: 1 -> 2; Log: [] -> [1] Log: [] -> [1] Log: [] -> [1] Log: [] ->  ...; Log ...
   4  |       *       |       Log: [] -> [1] Log: [] -> [1] Log: [] -> [1] Log: [] -> [1] Log: [] -> ` +
		`[1] Log: [] ->  ...
`
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringN(0, 9, -1), 1, 5).Draw(t, "names")
		steps := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Step {
			line := rapid.StringMatching(`[a-z :>-]{0,200}`)
			return Step{Node: rapid.IntRange(-1, len(names)-1).Draw(t, "node"), Text: line.Draw(t, "text"),
				Notes: rapid.SliceOf(line).Draw(t, "notes")}
		})).Draw(t, "steps")
		folded := Fold(names, steps)
		if n := strings.Count(folded, "\n"); n > 1+2*len(steps)+strings.Count(strings.Join(names, ""), "\n") {
			t.Fatalf("%d lines of %d steps:\n%s", n, len(steps), folded)
		}
		for _, line := range strings.Split(folded, "\n")[1:] {
			if n := utf8.RuneCountInString(line); n > foldedWidth+foldedNote {
				t.Fatalf("%d columns: %s", n, line)
			}
		}
	})
}

// TestFields: all parts of a value are listed, with the names that changes have. Cycles end.
func TestFields(t *testing.T) {
	n := &node{Phase: 1, Voters: map[int]bool{2: true}, log: []entry{{1, 2}}, any: entry{3, 4},
		raw: []byte("x")}
	n.next = n
	want := []Field{{"Phase", "busy"}, {"Voters[2]", "true"}, {"log[0].term", "1"}, {"log[0].value", "2"},
		{"next", "nil"}, {"raw", `"x"`}, {"any.term", "3"}, {"any.value", "4"}}
	if got := Fields(n); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	empty := []Field{{"Phase", "idle"}, {"Voters", "{}"}, {"log", "[]"}, {"next", "nil"}, {"raw", `""`},
		{"any", "nil"}}
	if got := Fields(&node{}); !slices.Equal(got, empty) {
		t.Errorf("%q\nwant %q", got, empty)
	}
	if got := Fields(make([]entry, 10_000)); len(got) != maxFields || got[maxFields-1].Path != "" {
		t.Errorf("%d fields", len(got))
	}
	if got := Fields(7); len(got) != 1 || got[0] != (Field{"", "7"}) {
		t.Errorf("%q", got)
	}
}
