package modules

import (
	"fmt"
	"testing"
)

// TestModulesAreNamed: the line names the first modules, in order, and what opens them.
func TestModulesAreNamed(t *testing.T) {
	var none *Set
	if none.Line() != "" || new(Set).Line() != "" {
		t.Error("modules are named though there are none")
	}
	m := new(Set)
	for i := range 7 {
		m.add(fmt.Sprint("example.com/", 7-i))
		m.add("example.com/7")
	}
	const want = "goroutines also start or synchronise in " +
		"example.com/1, example.com/2, example.com/3, example.com/4, example.com/5 and 2 more, " +
		"where they are not preempted: " +
		"--preempt-in example.com/1/...,example.com/2/...,example.com/3/...,example.com/4/...," +
		"example.com/5/... changes that"
	if got := m.Line(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
