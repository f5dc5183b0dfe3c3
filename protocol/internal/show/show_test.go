package show

import (
	"slices"
	"testing"
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
