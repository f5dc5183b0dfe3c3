package check

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestRareEventsComeAnywhere: in random searches a fault, a piece of a message, an early timer and
// a signal come late in an execution as often as early, and most executions have one. Drawn at each
// point, all of them would come in the first few steps.
func TestRareEventsComeAnywhere(t *testing.T) {
	p, err := buildProgram("testdata/rare", filepath.Join(tree, "rare"))
	if err != nil {
		t.Fatal(err)
	}
	const executions, steps = 300, 60
	for scenario, world := range map[string]sut.Environment{
		"fault": {Faults: 1}, "read": {ShortReads: 1}, "write": {ShortWrites: 1}, "timer": {EarlyTimers: 1},
		"signal": {Signals: []syscall.Signal{syscall.SIGTERM}, SignalLimit: 1},
	} {
		searches := map[string]*explore.Search{"random": randomSearch(executions, 3)}
		if scenario != "timer" && scenario != "signal" { // they have priorities there, as goroutines have
			searches["pct"] = pctSearch(executions, 2, 3)
		}
		for name, s := range searches {
			happened, late := 0, 0
			peer := (*echo)(nil)
			newPeers := func() sut.Peers { peer = &echo{}; return peer }
			o := sut.Options{Args: []string{scenario}, Environment: world}
			if _, err := eachExecutionWith(newPeers, p, o, s, func(log *sut.Log, x explore.Execution) bool {
				step, ok := firstNumber(string(log.Stdout))
				if scenario == "write" {
					step, ok = firstPiece(peer.seen)
				}
				if ok {
					happened++
				}
				if ok && step >= steps/2 {
					late++
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: in %d of %d executions, late in %d", scenario, name, happened, executions, late)
			if happened < executions/3 || late < executions/10 {
				t.Errorf("%s, %s: it happens in %d of %d executions, late in %d", scenario, name, happened,
					executions, late)
			}
		}
	}
}

func firstNumber(text string) (int, bool) {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(first)
	return n, err == nil
}

// firstPiece is which of the texts that a peer has seen is the first that is not whole.
func firstPiece(seen []string) (int, bool) {
	for i, text := range seen {
		if text != "ping" && text != "close" {
			return i, true
		}
	}
	return 0, false
}
