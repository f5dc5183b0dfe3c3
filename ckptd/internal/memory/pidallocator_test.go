package memory

import "testing"

func TestNumbersGoRound(t *testing.T) {
	n := pidAllocator{limit: 10}
	for round := range 2 {
		for want := 9; want >= 5; want-- {
			if got, err := n.choose(); got != want || err != nil {
				t.Errorf("round %d: %d, %v, want %d", round, got, err, want)
			}
		}
	}
}
