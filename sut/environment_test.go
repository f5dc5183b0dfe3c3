package sut

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

func TestEnvironmentsThatCannotBe(t *testing.T) {
	for want, w := range map[string]Environment{
		"is longer than":          {Machine: Machine{Hostname: strings.Repeat("x", abi.HostnameBytes+1)}},
		"signals can arrive":      {Signals: make([]syscall.Signal, MaxSignals+1)},
		"the peers can behave in": {Behaviours: maxBehaviours + 1},
		"in -1 ways":              {Behaviours: -1},
	} {
		if err := w.describe(&abi.SharedEnvironment{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that says %q", w, err, want)
		}
	}
	var sh abi.SharedEnvironment
	if err := (Environment{Behaviours: maxBehaviours}).describe(&sh); err != nil ||
		sh.Behaviours != maxBehaviours {
		t.Errorf("%d behaviours: %v", sh.Behaviours, err)
	}
}
