package protocol

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/kept"
)

// TestResumeTwin: a search that ends at some bounds and goes on each time has the result of one
// that does not end there: all counts, or a violation after as few steps.
func TestResumeTwin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "search")
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		if rapid.Bool().Draw(t, "all") {
			m.Properties = nil
		}
		workers := rapid.IntRange(1, 3)
		one := rapid.Bool().Draw(t, "one worker")
		o := Options{Workers: 1}
		want, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Resume = file
		defer os.Remove(file)
		for depth := 0; ; {
			if depth += rapid.IntRange(1, 4).Draw(t, "steps"); depth > want.Depth {
				break
			}
			if o.Depth = depth; !one {
				o.Workers = workers.Draw(t, "workers")
			}
			r, err := Check(m, o)
			switch {
			case err != nil:
				t.Fatal(err)
			case r.Verdict != Unknown: // a violation is nearer than the last level
				depth = want.Depth
			case r.Depth != depth || !strings.Contains(r.Reason, "goes on from "+file):
				t.Fatalf("%v at depth %d", r, depth)
			}
		}
		o.Depth = 0
		got, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		ignored := cmp.Options{cmpopts.IgnoreFields(Result{}, "Elapsed", "Bytes"),
			cmpopts.IgnoreUnexported(Violation{})}
		// The last level of a violation is not finished. What was met in it up to there depends on
		// the form of the states, and so does which of several shortest runs is found.
		if want.Violation != nil {
			if got.Violation == nil || got.Violation.Steps != want.Violation.Steps {
				t.Fatalf("%v, want %v", got, want)
			}
			return
		}
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Fatal(diff)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("the file of a search that has ended is still there")
		}
	})
}

// keptFile keeps a search of a model up to a depth, and returns the file.
func keptFile(t testing.TB, m *Model) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "search")
	r, err := Check(m, Options{Resume: file, Depth: 2})
	if err != nil || r.Verdict != Unknown {
		t.Fatal(r, err)
	}
	return file
}

// stepper counts steps that the application makes, by a number.
type stepper struct{ n, by int }

func (s *stepper) Receive(*Env, ID, any) {}
func (s *stepper) Actions() []any {
	if s.n > 3 {
		return nil
	}
	return []any{"step", "stay"}
}

func (s *stepper) Act(env *Env, action any) {
	if action == "step" {
		s.n += s.by
		env.Send(1-env.ID(), s.n)
	}
}

func steppers(by int) *Model { return &Model{Nodes: []Node{&stepper{0, by}, &stepper{0, by}}} }

// TestResumeKilled: a process may be ended at any time. What was kept until then is enough to go
// on, and the search does not begin at the start.
func TestResumeKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "search")
	// The property sees each combination of views once, so each state of the stairs.
	model := func(see func(sum int)) *Model {
		return &Model{Nodes: []Node{&stair{}, &stair{}}, Properties: []Property{Always("seen",
			func(_ ID, n Node) int { return n.(*stair).n },
			func(steps []int) bool { see(steps[0] + steps[1]); return true })}}
	}
	var killed []byte
	want, err := Check(model(func(sum int) {
		if sum == 20 && killed == nil {
			killed, _ = os.ReadFile(file)
		}
	}), Options{Resume: file, Workers: 1, keepAlways: true})
	if err != nil || want.Verdict != Holds || killed == nil {
		t.Fatalf("%v, error %v, %d bytes were kept", want, err, len(killed))
	}
	if err := os.WriteFile(file, killed, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Check(model(func(sum int) {
		if sum > 0 && sum < 20 {
			t.Errorf("a state %d steps from the start was met again", sum)
		}
	}), Options{Resume: file, Workers: 1})
	if err != nil || got.States != want.States || got.Transitions != want.Transitions ||
		got.Depth != want.Depth {
		t.Errorf("%v, want %v, error %v", got, want, err)
	}
}

// TestResumeRefuses: what is not this search is an error, and the file stays as it is.
func TestResumeRefuses(t *testing.T) {
	file := keptFile(t, steppers(1))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(what, want string, m *Model, o Options) {
		t.Helper()
		if _, err := Check(m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	for _, o := range []Options{{Search: Local}, {Search: DepthFirst}, {Reduce: true}} {
		o.Resume = file
		refuse(o.Search.String(), "only a breadth-first search", steppers(1), o)
	}
	o := Options{Resume: file}
	refuse("other nodes", "another model", steppers(2), o)
	faulty := steppers(1)
	faulty.Faults.Drops = 1
	refuse("other faults", "another model", faulty, o)
	for n := range len(data) {
		if err := os.WriteFile(file, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		refuse("a part of the file", "lost", steppers(1), o)
		changed := append([]byte{}, data...)
		changed[n] ^= 1
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		refuse("a bit that has changed", "lost", steppers(1), o)
	}
	refuse("no directory", "keep the search", steppers(1), Options{Resume: filepath.Join(file, "x", "y")})
}

// changing is a stepper whose handlers depend on a variable, as if its code had been changed.
type changing struct{ stepper }

var changed int

func (c *changing) Act(env *Env, action any) {
	c.stepper.Act(env, action)
	if c.n == 1 {
		c.n += changed
	}
}

// TestResumeChanged: a search of handlers that do other things now does not go on.
func TestResumeChanged(t *testing.T) {
	defer func() { changed = 0 }()
	m := &Model{Nodes: []Node{&changing{stepper{0, 1}}, &changing{stepper{0, 1}}}}
	file := keptFile(t, m)
	changed = 5
	if _, err := Check(m, Options{Resume: file}); err == nil ||
		!strings.Contains(err.Error(), "another model") {
		t.Errorf("error %v", err)
	}
	changed = 0
	if r, err := Check(m, Options{Resume: file}); err != nil || r.Verdict != Holds {
		t.Errorf("%v, error %v", r, err)
	}
}

// TestKeepFails: if a search cannot be written, what was kept before stays.
func TestKeepFails(t *testing.T) {
	m := steppers(1)
	file := keptFile(t, m)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := newMachine(m)
	if err != nil {
		t.Fatal(err)
	}
	c := newSearch(machine, Options{}, newBounds(Options{}, time.Now()))
	k, err := newKeeper(machine, Options{Resume: file}, &c)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := k.keep(true, func(out io.Writer) error {
		if _, err := out.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return full
	}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(file)); err != nil || len(list) != 1 {
		t.Errorf("files %v, error %v", list, err)
	}
	// A bound says so.
	c.Depth, c.Keep = 3, func(bool, func(io.Writer) error) error { return full }
	if r, err := global.Search(c); err != nil || !strings.Contains(r.Reason, "not saved: the disk is full") {
		t.Errorf("%+v, error %v", r, err)
	}
}

// FuzzResume: bytes in which no search was kept are an error, or go on to some result. Never does
// reading them panic.
func FuzzResume(f *testing.F) {
	file := keptFile(f, steppers(1))
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[len(kept.Head) : len(data)-crc32.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append([]byte(kept.Head), body...)
		data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
		file := filepath.Join(t.TempDir(), "search")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(steppers(1), Options{Resume: file, States: 10_000,
			Workers: 1}); err != nil &&
			!strings.Contains(err.Error(), file) {
			t.Error(err)
		}
	})
}

// stair goes up to 19, so three of them have 20 times 20 times 20 states.
type stair struct{ n int }

func (c *stair) Receive(*Env, ID, any) {}
func (c *stair) Act(*Env, any)         { c.n++ }
func (c *stair) Actions() []any {
	if c.n == 19 {
		return nil
	}
	return []any{"count"}
}

// TestResumeStates: bounds on the states end a search in the middle of levels. What it has reached
// there counts once, in words and in bytes.
func TestResumeStates(t *testing.T) {
	for _, network := range []Network{Unordered, Ordered} {
		m := &Model{Nodes: []Node{&stair{}, &stair{}, &stair{}}, Network: network}
		o := Options{Resume: filepath.Join(t.TempDir(), "search")}
		var r *Result
		stopped := 0
		for o.States = 1100; r == nil || r.Verdict == Unknown; o.States += 1100 {
			o.Workers = 1 + stopped%2
			var err error
			if r, err = Check(m, o); err != nil {
				t.Fatal(err)
			}
			if r.Verdict == Unknown {
				stopped++
			}
		}
		if r.Verdict != Holds || r.States != 8000 || r.Transitions != 3*19*400 || r.Depth != 57 ||
			stopped < 3 {
			t.Errorf("%v: %v after %d stops; want 8000 states, 22800 transitions, depth 57, 3 stops", network,
				r, stopped)
		}
	}
}
