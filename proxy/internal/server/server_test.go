package server

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

func TestTooManySockets(t *testing.T) {
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer sys.CloseAll(pair[:])
	s := New(pair[1])
	for id := range protocol.ID(protocol.MaxSockets) {
		s.sockets[id+1] = -1
	}
	for _, c := range []protocol.Request{
		{Op: protocol.OpCreateSocket, ID: 9999}, {Op: protocol.OpAccept, ID: 1, NewID: 9999},
	} {
		if r, fd := s.execute(c); r.Refusal != protocol.RefusedTooMany || fd != -1 {
			t.Errorf("%v beyond the limit: %+v, %d", c.Op, r, fd)
		}
	}
	if r, _ := s.execute(protocol.Request{Op: protocol.OpCreateSocket,
		ID: 1}); r.Refusal != protocol.Accepted {
		t.Errorf("a socket that exists is refused: %v", r.Refusal)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	many := protocol.Config{Peers: make([]protocol.Command, protocol.MaxPeers+1)}
	text, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for want, content := range map[string]string{
		"more than 64 peers":          string(text),
		"unexpected end of JSON":      "",
		"invalid character":           "nonsense",
		"is longer than 1048576 byte": strings.Repeat(" ", maxConfig+1),
	} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfig(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := readConfig("/nonexistent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
