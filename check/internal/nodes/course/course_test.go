package course_test

import (
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestTogetherInOrder: each of two nodes has received before it has sent, and both are independent.
// No order of both has that, so they are run in another order.
func TestTogetherInOrder(t *testing.T) {
	each := func(c int) *course.Course {
		sent := skeleton.Event{Name: skeleton.Name{Component: c, Stream: "out", N: 1}}
		got := skeleton.Event{Name: skeleton.Name{Component: c, Stream: "in", N: 1},
			From: skeleton.Name{Component: 1 - c, Stream: "out", N: 1}}
		k := &course.Course{Made: []skeleton.Event{got, sent}}
		k.Add(&model.Action{Goroutine: 1}, nil, []int{0})
		k.Add(&model.Action{Goroutine: 2}, nil, []int{1})
		return k
	}
	courses := []*course.Course{each(0), each(1)}
	if !course.Together(&network.Nodes{}, nil, courses) {
		t.Fatal("there is no order")
	}
	for c, want := range [][]string{{"out", "in"}, {"in", "out"}} {
		if got := courses[c].Made; got[0].Stream != want[0] || got[1].Stream != want[1] {
			t.Errorf("node %d: %v", c, got)
		}
	}
	if first := courses[0].Choices()[0].Goroutine; first != 2 {
		t.Errorf("goroutine %d is first: the schedule has to be that of the events", first)
	}
	// Where each has to receive first, there is none.
	courses = []*course.Course{each(0), each(1)}
	for _, k := range courses {
		k.Before[1] = []int{0}
	}
	if course.Together(&network.Nodes{}, nil, courses) {
		t.Error("each has received before the other has sent")
	}
}
