package ckptd

import (
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/peers"
)

// TestProtocolOfTheDaemon talks to a daemon as no client does; it survives that.
func TestProtocolOfTheDaemon(t *testing.T) {
	c := spawn(t, Options{})
	g := start(t, c, merecat())
	if err := seqpacket.Send(c.channel, []byte("garbage"), []int{0}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request wire.Request
		want    error
	}{
		"no operation":       {wire.Request{Operation: "dance", Group: g.id}, ErrInvalid},
		"no group":           {wire.Request{Operation: wire.OpCheckpoint, Group: 99}, ErrGroupDown},
		"start of nothing":   {wire.Request{Operation: wire.OpStart}, ErrInvalid},
		"empty second setup": {wire.Request{Operation: wire.OpSetup}, ErrInvalid},
		"second setup": {wire.Request{Operation: wire.OpSetup,
			Setup: &wire.Setup{MaxBytes: 1, MaxImages: 1}}, ErrInvalid},
	} {
		if _, err := c.call(testContext(t), test.request, nil); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	escape := merecat()
	escape.Files = append(escape.Files, peers.File{Path: "../x"})
	for name, group := range map[string]peers.Group{"empty group": {}, "escape": escape} {
		pieces, err := wire.EncodeSpec(group)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := sys.MemoryFile("tandem group", pieces...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.call(testContext(t), wire.Request{Operation: wire.OpStart},
			[]int{spec}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		unix.Close(spec)
	}
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Error(err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var all strings.Builder
	kept := &tail{also: &all}
	for n := range 100 {
		io.WriteString(kept, strings.Repeat(string(rune('a'+n%26)), 1000))
	}
	if got := string(kept.bytes()); len(got) != tailSize || !strings.HasSuffix(all.String(), got) {
		t.Errorf("%d bytes are kept that end in %q", len(got), got[len(got)-3:])
	}
	if all.Len() != 100000 {
		t.Errorf("%d bytes were passed on", all.Len())
	}
}
