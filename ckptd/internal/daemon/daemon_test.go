package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// TestLongRepliesFitIntoAMessage: JSON has six bytes for one where peers write what is no text.
func TestLongRepliesFitIntoAMessage(t *testing.T) {
	for _, unit := range []string{"x", "\x1b", "\xff", "<", "ä", "\u2028", "\xe2\x80", "\x00x"} {
		text := strings.Repeat(unit, wire.MaxMessage)
		long := wire.ErrorResponse(errors.New(text))
		b, err := wire.Encode(wire.ReplyKind, 1, long)
		if err != nil || len(b) > wire.MaxErrorText+100 {
			t.Errorf("an error of %q: %d bytes, %v", unit, len(b), err)
		}
		if least := wire.MaxErrorText/6 - 1; len(long.Error) < least && strings.ToValidUTF8(unit, "") != "" {
			t.Errorf("of an error of %q %d bytes are left", unit, len(long.Error))
		}
		dropped := make([]string, 2*wire.DefaultMaxImages)
		for n := range dropped {
			dropped[n] = fmt.Sprintf("g%d-%d", wire.MaxGroups, n)
		}
		r := checkpointReply(&store.Image{ID: "g1-1", Backend: wire.BackendCRIU}, time.Hour, dropped,
			errors.New(text))
		if _, err := wire.Encode(wire.ReplyKind, 1, r); err != nil || len(r.Dropped) < 1000 ||
			len(r.Refusal) == 0 {
			t.Errorf("an image that was refused for %q: %d dropped, %v", unit, len(r.Dropped), err)
		}
	}
	if got := wire.ErrorResponse(errors.New("\x1b <ä")).Error; got != "\x1b <ä" {
		t.Errorf("%q", got)
	}
}
