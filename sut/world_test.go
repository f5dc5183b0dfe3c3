package sut

import (
	"strings"
	"syscall"
	"testing"
)

func TestWorldsThatCannotBe(t *testing.T) {
	for want, w := range map[string]World{
		"is longer than":          {Hostname: strings.Repeat("x", hostnameBytes+1)},
		"signals can arrive":      {Signals: make([]syscall.Signal, MaxSignals+1)},
		"the peers can behave in": {Behaviours: MaxBehaviours + 1},
		"in -1 ways":              {Behaviours: -1},
	} {
		if err := w.describe(&sharedWorld{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that says %q", w, err, want)
		}
	}
	var sh sharedWorld
	if err := (World{Behaviours: MaxBehaviours}).describe(&sh); err != nil || sh.behaviours != MaxBehaviours {
		t.Errorf("%d behaviours: %v", sh.behaviours, err)
	}
}
