package check

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestReactionIsBounded: peers that go on sending do not take all memory, and an interrupted check does not wait for them.
func TestReactionIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reaction{p: &peerSide{ctx: ctx}}
	if err := r.take(0, maxReaction); err != nil {
		t.Error(err)
	}
	if err := r.take(3, 1); err == nil || !strings.Contains(err.Error(), "more than 256 MiB after one input, last on connection 3") {
		t.Error(err)
	}
	cancel()
	if err := (&reaction{p: r.p}).take(0, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
