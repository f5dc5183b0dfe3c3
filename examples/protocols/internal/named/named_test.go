package named

import (
	"strings"
	"testing"
)

// TestModels: a name that stands for nothing is an error, and says which ones do.
func TestModels(t *testing.T) {
	for _, name := range []string{"", "synod", "synod:", "other:1"} {
		if _, err := Model(name); err == nil || !strings.Contains(err.Error(), "synod:1") {
			t.Errorf("%q: error %v", name, err)
		}
	}
	for _, name := range []string{"synod:1", "synod:2", "faulty:1", "paxos:1", "twophase:3", "acceptors:3"} {
		if m, err := Model(name); err != nil || len(m.Nodes) < 3 {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
