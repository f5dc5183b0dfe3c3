package protocol

import (
	"fmt"
	"math/bits"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// scatterer sends to all others in the order of a map, which differs from run to run.
type scatterer struct {
	Others map[ID]int
	Got    int
}

func (s *scatterer) Actions() []any {
	if s.Got == 0 && len(s.Others) > 0 {
		return []any{"scatter"}
	}
	return nil
}

func (s *scatterer) Act(env *Env, _ any) {
	s.Got = 1
	for to, n := range s.Others {
		env.Send(to, n)
	}
}

func (s *scatterer) Receive(_ *Env, _ ID, message any) { s.Got = 10*s.Got + message.(int) }

// scatter is a model in which node 0 sends two messages to each of some nodes.
func scatter(nodes int) *Model {
	first := &scatterer{Others: map[ID]int{}}
	m := &Model{Nodes: []Node{first}}
	for i := range nodes {
		first.Others[ID(i+1)] = i + 2
		m.Nodes = append(m.Nodes, &scatterer{})
	}
	got := func(_ ID, n Node) int { return n.(*scatterer).Got }
	m.Properties = []Property{Always("each gets its own", got, func(v []int) bool {
		for i, n := range v {
			if i > 0 && n != 0 && n != i+1 {
				return false
			}
		}
		return true
	})}
	return m
}

// mixer sends values of several types to one node in the order of a map. Which types it has sent
// first differs from process to process, and so do the numbers of the types.
type mixer struct {
	Sends map[string]any
	Got   [4]int // of each type, up to two
}

func (x *mixer) Actions() []any {
	if x.Got[0] == 0 && x.Sends != nil {
		return []any{"mix"}
	}
	return nil
}

func (x *mixer) Act(env *Env, _ any) {
	x.Got[0] = 1
	for _, v := range x.Sends {
		env.Send(1, v)
	}
}

func (x *mixer) Receive(_ *Env, _ ID, message any) {
	of := bits.Len(uint(reflect.TypeOf(message).Size())) - 1
	x.Got[of] = min(2, x.Got[of]+1)
}

// TestSentTypes: the same holds of messages of several types.
func TestSentTypes(t *testing.T) {
	sends := map[string]any{"a": int8(1), "b": int16(1), "c": int32(1), "d": int64(1)}
	got := func(_ ID, n Node) [4]int { return n.(*mixer).Got }
	m := &Model{Nodes: []Node{&mixer{Sends: sends}, &mixer{}},
		Properties: []Property{Always("each comes once", got, func(v [][4]int) bool {
			return slices.Max(v[1][:]) < 2
		})}}
	want, err := Check(m, Options{})
	if err != nil || want.Verdict != Holds {
		t.Fatalf("%v, error %v", want, err)
	}
	for seed := range uint64(10) {
		for _, o := range []Options{{}, {Reduce: true}} {
			got, err := checkTogether(m, o, 3, "hash", chance{seed: seed})
			if err != nil || got.Verdict != Holds || !o.Reduce && got.States != want.States {
				t.Errorf("reduced %v, 3 parts: %v, error %v; want %v", o.Reduce, got, err, want)
			}
		}
	}
}

// TestSentOrder: a network without order does not keep the order in which a handler sends, so that
// may be the order of a map. Numbers of messages do not depend on it: they mean the same in all
// processes, and to who reads a file of a search.
func TestSentOrder(t *testing.T) {
	const nodes = 6
	m := scatter(nodes)
	want, err := Check(m, Options{})
	if err != nil || want.Verdict != Holds || want.States != 1+1<<nodes {
		t.Fatalf("%v, error %v", want, err)
	}
	for seed := range uint64(5) {
		for _, o := range []Options{{}, {Reduce: true}} {
			got, err := checkTogether(m, o, 3, "hash", chance{seed: seed})
			if err != nil || got.Verdict != Holds || !o.Reduce && got.States != want.States {
				t.Errorf("reduced %v, 3 parts: %v, error %v; want %v", o.Reduce, got, err, want)
			}
		}
		file := filepath.Join(t.TempDir(), fmt.Sprint(seed))
		if r, err := Check(m, Options{Resume: file, Depth: 3}); err != nil || r.Verdict != Unknown {
			t.Fatalf("%v, error %v", r, err)
		}
		if got, err := Check(m, Options{Resume: file}); err != nil || got.States != want.States {
			t.Errorf("a search that goes on: %v, error %v; want %v", got, err, want)
		}
	}
}

// setter sets timers of several types in the order of a map. No state has a value of these before,
// so their types have other numbers in another process. It counts what fires, of each type up to
// two.
type setter struct {
	Got [4]int
	Set bool
}

func (s *setter) Receive(*Env, ID, any) {}

func (s *setter) Actions() []any {
	if s.Set {
		return nil
	}
	return []any{"set"}
}

func (s *setter) Act(env *Env, _ any) {
	s.Set = true
	for _, timer := range map[string]any{"a": int8(1), "b": int16(1), "c": int32(1), "d": int64(1)} {
		env.SetTimer(timer)
	}
}

func (s *setter) Timeout(_ *Env, timer any) {
	of := bits.Len(uint(reflect.TypeOf(timer).Size())) - 1
	s.Got[of] = min(2, s.Got[of]+1)
}

// TestTimerTypes: which timer an event is about does not depend on the process, nor on who reads a
// file of a search.
func TestTimerTypes(t *testing.T) {
	got := func(_ ID, n Node) [4]int { return n.(*setter).Got }
	m := &Model{Nodes: []Node{&setter{}, &setter{}},
		Properties: []Property{Always("each fires once", got, func(v [][4]int) bool {
			return max(slices.Max(v[0][:]), slices.Max(v[1][:])) < 2
		})}}
	want, err := Check(m, Options{})
	if err != nil || want.Verdict != Holds || want.States != 17*17 {
		t.Fatalf("%v, error %v", want, err)
	}
	for seed := range uint64(10) {
		got, err := checkTogether(m, Options{}, 3, "hash", chance{seed: seed})
		if err != nil || got.Verdict != Holds || got.States != want.States {
			t.Errorf("3 parts: %v, error %v; want %v", got, err, want)
		}
		file := filepath.Join(t.TempDir(), fmt.Sprint(seed))
		if r, err := Check(m, Options{Resume: file, Depth: 4}); err != nil || r.Verdict != Unknown {
			t.Fatalf("%v, error %v", r, err)
		}
		if got, err := Check(m, Options{Resume: file}); err != nil || got.States != want.States {
			t.Errorf("a search that goes on: %v, error %v; want %v", got, err, want)
		}
	}
}

// lister sends lists, or sets timers with lists, in the order of a map. What people are shown of
// them is the same: they differ in the last element, which is left out. It counts what comes, of
// each list up to two.
type lister struct {
	Lists     map[int]lists
	HasTimers bool
	Got       [5]int
}

// lists have a list at the end.
type lists struct{ Of [17]int }

// newLister is one with some lists, which differ in the last element.
func newLister(hasTimers bool) *lister {
	l := &lister{HasTimers: hasTimers, Lists: map[int]lists{}}
	for n := 1; n < 5; n++ {
		l.Lists[n] = lists{[17]int{16: n}}
	}
	return l
}

func (l *lister) Actions() []any {
	if l.Got[0] == 0 && l.Lists != nil {
		return []any{"list"}
	}
	return nil
}

func (l *lister) Act(env *Env, _ any) {
	l.Got[0] = 1
	for _, list := range l.Lists {
		if l.HasTimers {
			env.SetTimer(list)
		} else {
			env.Send(1, list)
		}
	}
}

func (l *lister) Receive(_ *Env, _ ID, message any) {
	of := message.(lists).Of[16]
	l.Got[of] = min(2, l.Got[of]+1)
}

func (l *lister) Timeout(env *Env, timer any) { l.Receive(env, 0, timer) }

// TestSentLists: the order of messages and timers is by all that they have, and not by what people
// are shown of it.
func TestSentLists(t *testing.T) {
	got := func(_ ID, n Node) [5]int { return n.(*lister).Got }
	once := []Property{Always("each comes once", got, func(v [][5]int) bool {
		return max(slices.Max(v[0][:]), slices.Max(v[1][:])) < 2
	})}
	for _, hasTimers := range []bool{false, true} {
		m := &Model{Nodes: []Node{newLister(hasTimers), &lister{}}, Properties: once}
		want, err := Check(m, Options{})
		if err != nil || want.Verdict != Holds || want.States != 1+16 {
			t.Fatalf("timers %v: %v, error %v", hasTimers, want, err)
		}
		for seed := range uint64(10) {
			for _, o := range []Options{{}, {Reduce: true}} {
				got, err := checkTogether(m, o, 3, "hash", chance{seed: seed})
				if err != nil || got.Verdict != Holds || !o.Reduce && got.States != want.States {
					t.Errorf("timers %v, reduced %v, 3 parts: %v, error %v; want %v", hasTimers,
						o.Reduce, got, err, want)
				}
			}
			file := filepath.Join(t.TempDir(), fmt.Sprint(seed))
			if r, err := Check(m, Options{Resume: file, Depth: 3}); err != nil || r.Verdict != Unknown {
				t.Fatalf("timers %v: %v, error %v", hasTimers, r, err)
			}
			if got, err := Check(m, Options{Resume: file}); err != nil || got.States != want.States {
				t.Errorf("timers %v, a search that goes on: %v, error %v; want %v", hasTimers, got, err, want)
			}
		}
	}
}
