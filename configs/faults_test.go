package configs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/peers"
)

// TestFaultsOfNodes: what is said of partitions, crashes and pauses is said again of the effective
// configuration. A number is that of crashes, and of faults of the network if any are named.
func TestFaultsOfNodes(t *testing.T) {
	for list, want := range map[string]struct {
		faults, limit int
		crashing      []int
	}{
		"2,crash":                         {0, 2, []int{0, 1}},
		"1,partition,crash=b":             {0, 1, []int{1}},
		"3,reset,partition=a:b,crash=a":   {3, 3, []int{0}},
		"1,partition":                     {},
		"0,partition,crash":               {},
		"2,reset,end,crash=a,crash=b":     {2, 2, []int{0, 1}},
		"1,partition=a,partition=b,crash": {0, 1, []int{0, 1}},
		"2,pause=b,crash=a,slow":          {0, 2, []int{0}},
		"2,reset,crash=b,pause":           {2, 2, []int{1}},
	} {
		f, err := ParseFaults(list)
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		c := Config{Others: Others{Nodes: []Node{{Name: "a"}, {Name: "b"}}}}
		c.SetFaults(f)
		if c.World.Faults != want.faults || c.CrashLimit != want.limit ||
			!cmp.Equal(c.Crashing(), want.crashing) {
			t.Errorf("%s: %d faults, %d crashes of %v; want %+v", list, c.World.Faults, c.CrashLimit,
				c.Crashing(), want)
		}
		if paused := strings.Contains(list, "pause"); paused != (c.PauseLimit == 2) ||
			paused != (len(c.Pausing()) > 0) {
			t.Errorf("%s: %d pauses of %v", list, c.PauseLimit, c.Pausing())
		}
		if want.limit == 0 {
			continue
		}
		again, err := ParseFaults(faultsOf(c))
		if diff := cmp.Diff(f, again); err != nil || diff != "" {
			t.Errorf("%s is %s: %v (-want +got):\n%s", list, faultsOf(c), err, diff)
		}
	}
}

// TestGroupsHaveFaults: nodes in groups may have all faults, and real peers beside them.
func TestGroupsHaveFaults(t *testing.T) {
	f, err := ParseFaults("1,reset,lost,partition,crash,pause,slow")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Group: &peers.Group{}, Scope: Scopes[0]}
	c.Nodes = []Node{{Name: "a", Package: "a", Group: "x"}, {Name: "b", Package: "b", Group: "x"},
		{Name: "c", Package: "c"}}
	c.SetFaults(f)
	if err := NodesRefuse(c); err != nil {
		t.Error(err)
	}
}
