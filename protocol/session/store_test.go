package session

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestKept: what belongs to a checkpoint that is told of stays, and so does what the process of the
// part has stored behind it. All else goes, whatever its name.
func TestKept(t *testing.T) {
	k := &Kept{Parts: []KeptPart{{}, {Process: 7, Pieces: []Pieces{{3, 0, 2}, {7, 0, 1}},
		Heads: []Pieces{{3, 4, 5}}}}}
	for name, want := range map[string]bool{
		"1.3.states.0": true, "1.3.states.1": true, "1.3.states.2": false, "1.3.head.4": true,
		"1.3.head.3": false, "1.3.head.5": false, "1.7.states.0": true, "1.7.states.1": true,
		"1.7.head.0": true, "1.8.states.0": false, "0.3.states.0": false, "2.7.states.0": false,
		"-1.7.states.0": false, "1.7.states": false, "x": false,
	} {
		if got := k.Has(name); got != want {
			t.Errorf("%s is kept: %v", name, got)
		}
	}
	for _, o := range []Object{{1, 3, false, 2}, {250, 1<<63 - 1, true, 0}} {
		if got, ok := parseObject(o.String()); !ok || got != o {
			t.Errorf("%v has become %v", o, got)
		}
	}
}

// TestStore: objects cross the connection as they are, and errors as what they mean.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]byte{}
	var busy sync.WaitGroup
	defer busy.Wait()
	s := NewStore(path)
	busy.Go(func() {
		raw, err := l.Accept()
		if err != nil {
			return
		}
		NewConn(raw).Serve(func(name string, data []byte) error {
			if name == "full" {
				return errors.New("there is no room")
			}
			objects[name] = slices.Clone(data)
			return nil
		}, func(name string) ([]byte, error) {
			if objects[name] == nil {
				return nil, fmt.Errorf("%w (%s)", ErrLost, name)
			}
			return objects[name], nil
		})
		raw.Close()
	})
	defer l.Close()
	data := bytes.Repeat([]byte("x"), 1<<20)
	if _, err := s.Do(Put, "a", data); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Do(Get, "a", nil); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if _, err := s.Do(Get, "b", nil); !errors.Is(err, ErrLost) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := s.Do(Put, "full", data); err == nil || errors.Is(err, ErrLost) {
		t.Errorf("no room: %v", err)
	}
	s.conn.Close()
	if _, err := s.Do(Get, "a", nil); err == nil {
		t.Error("no error of a connection that is closed")
	}
}
