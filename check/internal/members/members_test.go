package members

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/protocol/session"
)

// TestMain: started as a member, the test ends with a code when it sees that the others are lost.
func TestMain(m *testing.M) {
	if path := os.Getenv(session.Environment); path != "" {
		c, _, err := session.Dial(path)
		if err == nil {
			_, _, _ = c.Message()
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// lost has no server any more.
type lost struct{ distribute.Post }

var errLost = errors.New("the server is lost")

func (lost) Receive(context.Context) ([]byte, uint64, error) { return nil, 0, errLost }

// TestAddresses: a process and a server name receivers alike. Neither package may import the other.
func TestAddresses(t *testing.T) {
	for there, here := range map[int]int{session.Front: distribute.ToFront, session.All: distribute.ToAll,
		session.Levels: distribute.ToLevels, session.Ends: distribute.ToEnds} {
		if there != here {
			t.Errorf("%d is %d in package distribute", there, here)
		}
	}
}

// TestHasEnded: only a program that has come to its end says what the result is. Others may go on.
func TestHasEnded(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	shell := func(ctx context.Context, script string) error {
		return Run(ctx, Setup{Dir: t.TempDir(), Args: []string{"-c", script}}, "/bin/sh", nil, Wires{}, nil,
			nil)
	}
	for what, err := range map[string]error{
		"code 0":       shell(t.Context(), "exit 0"),
		"another code": shell(t.Context(), "exit 2"),
	} {
		if !HasEnded(err) {
			t.Errorf("%s: %v says that it has not ended", what, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := Setup{Dir: t.TempDir()}
	alone := Run(t.Context(), here, self, &session.Hello{}, Wires{Post: lost{}}, io.Discard, io.Discard)
	if !errors.Is(alone, errLost) {
		t.Errorf("%v, want that the server is lost", alone)
	}
	for what, err := range map[string]error{
		"it was killed":          shell(t.Context(), "kill -9 $$"),
		"it was interrupted":     shell(t.Context(), "kill -INT $$"),
		"tandem was interrupted": shell(cancelled, "exit 0"),
		"the others are lost":    alone,
		"it cannot be started":   Run(t.Context(), here, "/no/such/program", nil, Wires{}, nil, nil),
	} {
		if HasEnded(err) {
			t.Errorf("%s: %v says that it has ended", what, err)
		}
	}
}
