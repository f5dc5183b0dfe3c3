package bakery

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestVerified: two processes with three tickets, and three processes with two, exclude each other.
func TestVerified(t *testing.T) {
	for processes, most := range map[int]int{2: 3, 3: 2} {
		protocol.Test(t, Model(processes, most), protocol.Options{})
	}
}

// TestNoDoor: without the variable for those who are choosing, two of them may be in the critical
// section. That is what the variable is for.
func TestNoDoor(t *testing.T) {
	m := Model(2, 2)
	for _, n := range m.Nodes {
		n.(*Process).NoDoor = true
	}
	r, err := protocol.Check(m, protocol.Options{})
	if err != nil || r.Violation == nil || r.Violation.What != m.Properties[0].Name() {
		t.Fatalf("%v, error %v", r, err)
	}
}
