package driver

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers"
)

// TestJournalFull: where an answer cannot be kept for others, they get none any more, and the file
// is freed. The driver goes on as without them.
func TestJournalFull(t *testing.T) {
	inputs := []model.Input{{Kind: model.Connect, Addr: serverAt}}
	for range 20 {
		inputs = append(inputs, model.Input{Kind: model.Send, Data: []byte("say something\n")})
	}
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	want := run(t, newCrowd(t, c, 0, nil).sessions[0], inputs)
	for name, fill := range map[string]struct {
		most int64
		disk string
		want string
	}{
		"a limit":     {300, "", "they take more than 0 MiB"},
		"a full disk": {MaxShared, "/dev/full", "no space left on device"},
	} {
		all := newCrowd(t, c, 1, nil)
		j := all.here.journal
		j.most = fill.most
		s, other := all.sessions[0], all.sessions[1]
		if fill.disk == "" {
			run(t, other, inputs[:2]) // there is room for these
		} else {
			full, err := os.OpenFile(fill.disk, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			j.file.file = full
		}
		if err := all.shown.Problem(); err != nil {
			t.Errorf("%s, at first: %v", name, err)
		}
		file := j.file.file
		if got := run(t, s, inputs); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if err := all.shown.Problem(); err == nil || !strings.Contains(err.Error(), fill.want) {
			t.Errorf("%s: %v, want %q", name, err, fill.want)
		}
		if file.Close() == nil || len(j.ends) > 0 || j.file.end > 0 {
			t.Errorf("%s: %d answers are left, and the file", name, len(j.ends))
		}
		// They do not wait for peers that would answer.
		other.Rewind()
		asked, _ := all.shown.Asked()
		for _, in := range []model.Input{inputs[0], {Kind: model.Send, Data: []byte("say else\n")}} {
			if _, err := other.Exchange(in); err != nil {
				if !strings.Contains(err.Error(), fill.want) {
					t.Errorf("%s: who asks is told %v", name, err)
				}
				break
			}
		}
		if _, err := all.shown.Answer(context.Background(), &Question{Input: &inputs[0]}); err == nil {
			t.Errorf("%s: there is an answer", name)
		}
		if again, _ := all.shown.Asked(); again != asked {
			t.Errorf("%s: %d questions were answered", name, again-asked)
		}
	}
}
