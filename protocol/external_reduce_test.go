package protocol

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// TestExternalReducedTwin: a search that leaves out orders of steps and has its states in files has
// the verdict of one that leaves out nothing, and all counts of the reduced one in memory: also
// where runs have no end, and it is known late what is new.
func TestExternalReducedTwin(t *testing.T) {
	dir, sum := t.TempDir(), struct{ files, endless, violated, states, whole int }{}
	checkSpecs(t, mostSparse, drawEither, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		m.Properties = drawSeeing(t, s, m.Properties)
		o := Options{Workers: 1, Depth: max(0, rapid.IntRange(-9, 5).Draw(t, "depth"))}
		whole, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Reduce, o.Without = true, Split(rapid.IntRange(0, 3).Draw(t, "splits"))
		want, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		isEndless := reducedSearch(t, m, o).Proviso
		o.Workers, o.External = rapid.IntRange(1, 2).Draw(t, "workers"), dir
		o.onDisk = drawSizes(t)
		got, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		compareResults(t, want, got, false)
		if o.Depth == 0 && got.Verdict != whole.Verdict {
			t.Fatalf("%v; want %v", got, whole)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, err)
		}
		if got.Violation != nil {
			sum.violated++
			if again, err := replay(m, got.Violation.Run); err != nil || again.What != got.Violation.What {
				t.Fatalf("replay: %+v, error %v; the violation was %+v", again, err, got.Violation)
			}
			return
		}
		sum.states += got.States
		sum.whole += whole.States
		if got.Disk > 0 {
			sum.files++
			if isEndless {
				sum.endless++
			}
		}
	})
	t.Logf("%+v", sum)
	if least := *protocols / 10; sum.files < least || sum.endless < least || sum.states >= sum.whole {
		t.Error("files were seldom used, or nothing was left out")
	}
}

// TestExternalReducedCycle: nodes that go round for ever do not put off what another one does,
// although it is known late that their states are not new.
func TestExternalReducedCycle(t *testing.T) {
	turn := func(c *counter, _ *Env, _ any) { c.N = (c.N + 1) % 3 }
	step := func(c *counter, _ *Env, _ any) { c.N++ }
	// A step that a property sees would not be put off.
	n := func(id ID, node Node) int { return int(id) * node.(*counter).N }
	for _, network := range []Network{Unordered, Ordered} {
		m := &Model{Network: network, Nodes: []Node{&counter{Most: 9, On: turn}, &counter{Most: 2, On: step}},
			Properties: []Property{Always("below 2", n, func(v []int) bool { return v[1] < 2 })}}
		o := Options{Reduce: true, Workers: 1, External: t.TempDir(), onDisk: func(d *global.Disk) {
			tiny(d)
			d.Sizes.Table, d.Sizes.Spool = 0, 1 // from the first state on
		}}
		if r, err := Check(m, o); err != nil || r.Verdict != Violated || r.Disk == 0 {
			t.Errorf("%v: %v, error %v; want a violation", network, r, err)
		}
	}
}

// TestExternalReducedFull: the disk is full at each write in turn, in both passes through a level.
// That is an error, and nothing is left.
func TestExternalReducedFull(t *testing.T) {
	dir := t.TempDir()
	turn := func(c *counter, _ *Env, _ any) { c.N = (c.N + 1) % 3 }
	step := func(c *counter, _ *Env, _ any) { c.N++ }
	m := &Model{Nodes: []Node{&counter{Most: 9, On: turn}, &counter{Most: 9, On: turn},
		&counter{Most: 5, On: step}, &counter{Most: 5, On: step}}}
	want, err := Check(m, Options{Reduce: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for n := 1; ; n += 1 + n/10 {
		writes := 0
		o := Options{Reduce: true, Workers: 1, External: dir, onDisk: func(d *global.Disk) {
			tiny(d)
			d.Sizes.Table, d.Sizes.Spool = 0, 1
			d.Write = func(file *os.File, data []byte) (int, error) {
				if writes++; writes == n {
					return 0, syscall.ENOSPC
				}
				return file.Write(data)
			}
		}}
		got, err := Check(m, o)
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, err)
		}
		if writes < n {
			compareCounts(t, want, got, err)
			break
		}
		if failures++; !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), "make room in "+dir) {
			t.Fatalf("write %d failed: error %v", n, err)
		}
	}
	if failures < 10 {
		t.Errorf("only %d writes failed", failures)
	}
}

// broom is a node that goes from one state to many, and back from each of them. Or it goes from one
// state to the next by many ways, until none are left.
type broom struct {
	N, Left int
	Counts  bool
}

func (b *broom) Receive(*Env, ID, any) {}

func (b *broom) Act(_ *Env, action any) {
	if b.Counts {
		b.Left--
	} else {
		b.N = action.(int)
	}
}

func (b *broom) Actions() (list []any) {
	if b.N > 0 {
		return []any{0}
	}
	if b.Counts && b.Left == 0 {
		return nil
	}
	for n := range 400 {
		list = append(list, n+1)
	}
	return list
}

// TestExternalReducedBound: the states of a level that are to be expanded in full are written down
// only if the bound on the disk has room for them, and the other bounds are looked at meanwhile.
// All states of the second level here lead back to one, so what they lead to takes little.
func TestExternalReducedBound(t *testing.T) {
	// Steps of the second node are put off: the property sees them, and there are not fewer.
	left := func(id ID, node Node) int { return int(id) * node.(*broom).Left }
	m := &Model{Nodes: []Node{&broom{}, &broom{Left: 3, Counts: true}},
		Properties: []Property{Always("few", left, func(v []int) bool { return v[1] < 9 })}}
	o := Options{Reduce: true, Workers: 1, External: t.TempDir(), onDisk: func(d *global.Disk) {
		tiny(d)
		d.Sizes.Table, d.Sizes.Spool = 0, 1
	}}
	// When the first level has led to all of its 400 states, and is not done.
	o.States = 401
	r, err := Check(m, o)
	if err != nil || r.Transitions != 400 || r.Depth != 0 {
		t.Errorf("%v, error %v; want that the search ends with 400 transitions", r, err)
	}
	// Chunks are larger, so that there are few candidates. Those 400 states have no room once more.
	o.States, o.Disk, o.onDisk = 0, 6500, func(d *global.Disk) {
		tiny(d)
		d.Sizes.Table, d.Sizes.Chunk, d.Sizes.Spool = 6000, 200, 1
	}
	r, err = Check(m, o)
	if err != nil || r.Verdict != Unknown || r.Disk > 6500 || r.States != 401 {
		t.Errorf("%v, error %v, %d bytes in files; want at most 6500", r, err, r.Disk)
	}
}
