package protocol

import (
	"fmt"
	"testing"
)

// fan is a node with many states after one step, and one more after another.
type fan struct {
	State int
	Talk  []string // what it sends in the second step from one of them
	Ends  bool     // one of them has no second step
}

// The states of a fan that matter.
const (
	fanWidth = 60
	fanTalks = 50
	fanEnds  = 59
	fanWrong = 101
)

func (f *fan) Receive(*Env, ID, any) {}

func (f *fan) Actions() (list []any) {
	switch {
	case f.State == 0:
		for i := 1; i < fanWidth; i++ {
			list = append(list, i)
		}
	case f.State < fanEnds || f.State == fanEnds && !f.Ends:
		list = append(list, 100+f.State)
	}
	return list
}

func (f *fan) Act(env *Env, action any) {
	f.State = action.(int)
	if f.State != 100+fanTalks {
		return
	}
	for _, m := range f.Talk {
		env.Send(1, m)
	}
}

// deaf is a node that does nothing.
type deaf struct{}

func (*deaf) Receive(*Env, ID, any) {}

// TestNearest: a violation is met where states of the next level are met, and then a run that is
// shorter, where one state of the present level ends. The run is the shorter one, also if the level
// has begun again between the two, with wider vectors or in files. If there is none, then the first
// one is not forgotten.
func TestNearest(t *testing.T) {
	var others []string
	for i := range 300 {
		others = append(others, fmt.Sprint(i))
	}
	state := func(_ ID, n Node) int {
		if f, ok := n.(*fan); ok {
			return f.State
		}
		return 0
	}
	for name, talk := range map[string][]string{"silent": nil, "equal": {"a", "a", "a"}, "many": others} {
		for _, ends := range []bool{true, false} {
			m := &Model{Nodes: []Node{&fan{Talk: talk, Ends: ends}, &deaf{}}, Properties: []Property{
				Always("right", state, func(v []int) bool { return v[0] != fanWrong }),
				Eventually("gone on", state, func(v []int) bool { return v[0] != fanEnds }),
			}}
			want := map[bool]string{true: "gone on", false: "right"}[ends]
			for _, o := range []Options{{Workers: 1}, {Workers: 2},
				{Workers: 1, External: t.TempDir(), onDisk: tiny},
				{Workers: 2, External: t.TempDir(), onDisk: tiny}} {
				r, err := Check(m, o)
				if err != nil || r.Violation == nil || r.Violation.What != want ||
					(r.Violation.Steps == 1) != ends || r.Violation.Steps > 2 {
					t.Errorf("%s, ends %v, %d workers, in files %v: %v, error %v; want %q", name, ends,
						o.Workers, o.External != "", r, err, want)
				}
			}
		}
	}
}
