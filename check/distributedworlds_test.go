package check

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// asAlone sees that a check with two workers says what it says alone, in so many executions at
// most, and returns how many the workers have explored. Prepare is called before each of the two;
// nil: nothing is to be done.
func asAlone(t *testing.T, o Options, most int, prepare func(o *Options, workers bool)) (explored int) {
	t.Helper()
	o.Leaks, o.SelfCheck, o.Workers = true, 10, 1
	var want string
	for _, workers := range []bool{false, true} {
		o.Search = maxExecutions(dporSearch(), most)
		if prepare != nil {
			prepare(&o, workers)
		}
		if !workers {
			want = saysWithPeers(t, check(t, o))
			continue
		}
		say, end := hire(t, &o.Distribution, 2, nil)
		o.haste, o.Distribution.Say = true, func(format string, a ...any) {
			fmt.Sscanf(fmt.Sprintf(format, a...), "the workers have explored %d", &explored)
			say(format, a...)
		}
		r := check(t, o)
		end()
		if diff := cmp.Diff(want, saysWithPeers(t, r)); diff != "" {
			t.Errorf("alone (-) and with workers (+):\n%s", diff)
		}
	}
	return explored
}

// TestDistributedPeerTimers: timers of the peers end at the same places, whoever explores.
func TestDistributedPeerTimers(t *testing.T) {
	explored := 0
	for _, args := range [][]string{nil, {"-again"}} {
		o := example{keepAlive.pkg, keepAlive.config, args}.options(t)
		o.World.PeerTimers, o.Violations = 2, 5
		explored += asAlone(t, o, 200, nil)
	}
	if explored == 0 {
		t.Error("the workers have explored nothing")
	}
}

// TestDistributedFaults: connections to peers fail in the same ways, in either scope. So do timers
// of the program that fire early.
func TestDistributedFaults(t *testing.T) {
	explored := 0
	for scope, kinds := range map[iocache.Scope][]string{
		iocache.Group: {"reset"}, iocache.Connection: sut.FaultKinds,
	} {
		o := httpGet.options(t)
		o.Scope, o.World.Faults, o.World.FaultKinds, o.Violations = scope, 1, kinds, 15
		o.World.FaultPeers, o.World.EarlyTimers = []string{"merecat"}, 1
		explored += asAlone(t, o, cases(120, 40), nil)
	}
	if explored == 0 {
		t.Error("the workers have explored nothing")
	}
}

// TestDistributedAnswerFile: what the peers have answered to workers is kept with the rest. The
// next check needs no peers, with workers or without.
func TestDistributedAnswerFile(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	var open []*saved.AnswerFile
	closeAll := func() {
		for _, k := range open {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		}
		open = nil
	}
	defer closeAll()
	explored := 0
	for _, again := range []bool{false, true} {
		o := httpGet.options(t)
		explored += asAlone(t, o, 120, func(o *Options, workers bool) {
			closeAll()
			file := kept
			if !workers && !again {
				file = filepath.Join(t.TempDir(), "alone")
			}
			o.Kept = openKept(t, file)
			if open = append(open, o.Kept); again {
				o.Client = nil // nobody could start a peer
			}
		})
	}
	if explored == 0 {
		t.Error("the workers have explored nothing")
	}
}
