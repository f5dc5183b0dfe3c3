package protocol

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// drawSizes draws sizes with which a search of some states goes to files, mostly at each level.
func drawSizes(t *rapid.T) func(*global.Disk) {
	draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	sizes := external.Sizes{
		Table: int64(draw(0, 2, "table") * 3000), Chunk: draw(1, 5, "chunk"), Sort: draw(0, 1000, "sort"),
		Spool: draw(1, 500, "spool"), Young: draw(0, 30, "young"), Block: draw(1, 100, "block"),
		FanIn: draw(2, 4, "fan-in"), Runs: draw(1, 4, "runs"),
	}
	return func(d *global.Disk) { d.Sizes = sizes }
}

// ignored is what differs between searches in memory and others.
var ignored = cmp.Options{cmpopts.IgnoreFields(Result{}, "Elapsed", "Bytes", "Disk"),
	cmpopts.IgnoreUnexported(Violation{})}

// TestExternalTwin: a search that has room for a few states in memory has the result of one that
// has room for all: all counts, and the same shortest run to a violation.
func TestExternalTwin(t *testing.T) {
	dir := t.TempDir()
	spilled := 0
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		properties := m.Properties
		if m.Properties = nil; rapid.Bool().Draw(t, "properties") {
			from := rapid.IntRange(0, len(properties)-1).Draw(t, "from")
			m.Properties = properties[from:rapid.IntRange(from+1, len(properties)).Draw(t, "to")]
		}
		workers := rapid.IntRange(1, 2).Draw(t, "workers")
		want, err := Check(m, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Check(m, Options{Workers: workers, External: dir, onDisk: drawSizes(t)})
		if err != nil {
			t.Fatal(err)
		}
		if got.Disk > 0 {
			spilled++
		}
		compareResults(t, want, got, workers == 1)
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, err)
		}
	})
	t.Logf("%d searches had files", spilled)
	if spilled < *protocols/3 {
		t.Errorf("only %d searches had files", spilled)
	}
}

// compareResults compares all of two results. Where the search has ended at a violation, what it
// had met of the last level depends on the form of states. Which of several shortest runs is shown
// is the same with one worker.
func compareResults(t *rapid.T, want, got *Result, isSameRun bool) {
	t.Helper()
	if want.Violation == nil {
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Fatal(diff)
		}
		return
	}
	if got.Violation == nil || got.Violation.Steps != want.Violation.Steps || got.Depth != want.Depth {
		t.Fatalf("%v, want %v", got, want)
	}
	if diff := cmp.Diff(want.Violation, got.Violation, ignored); diff != "" && isSameRun {
		t.Fatal(diff)
	}
	// So many successors are inserted together.
	if difference := got.States - want.States; isSameRun && max(difference, -difference) >= 32 {
		t.Fatalf("%v, want %v", got, want)
	}
}

// stairs have 20 states each, on 19 * n + 1 levels.
func stairs(n int) *Model {
	m := &Model{Properties: []Property{Always("seen", func(_ ID, n Node) int { return n.(*stair).n },
		func([]int) bool { return true })}}
	for range n {
		m.Nodes = append(m.Nodes, &stair{})
	}
	return m
}

// tiny are sizes with which a search has nearly all of its states in files.
func tiny(d *global.Disk) {
	d.Sizes = external.Sizes{Table: 3000, Chunk: 7, Sort: 600, Spool: 300, Young: 10, Block: 100, FanIn: 3,
		Runs: 3}
}

// TestExternalResumeTwin: a search in files that ends at some bounds and goes on each time, with
// other sizes and another number of workers, has the result of one in memory.
func TestExternalResumeTwin(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "search")
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		m.Properties = m.Properties[rapid.IntRange(0, len(m.Properties)).Draw(t, "properties"):]
		want, err := Check(m, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got *Result
		for depth := 0; got == nil || got.Verdict == Unknown; {
			depth += rapid.IntRange(2, 9).Draw(t, "steps")
			o := Options{Workers: rapid.IntRange(1, 2).Draw(t, "workers"), External: dir, Resume: file,
				Depth: depth, onDisk: drawSizes(t)}
			if got, err = Check(m, o); err != nil {
				t.Fatal(err)
			}
		}
		// A bound on the depth is met before it is seen that there is nothing behind it.
		compareResults(t, want, got, false)
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, err)
		}
	})
}

// TestExternalFull: the disk is full at each write in turn. That is an error, and the search goes
// on from what was kept as soon as there is room. Without Resume nothing is left.
func TestExternalFull(t *testing.T) {
	dir := t.TempDir()
	m := stairs(2)
	want, err := Check(m, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, resume := range []string{"", filepath.Join(dir, "search")} {
		for n := 1; ; n += 1 + n/10 {
			writes := 0
			o := Options{Workers: 1, External: dir, Resume: resume, keepAlways: true}
			o.onDisk = func(d *global.Disk) {
				tiny(d)
				d.Write = func(file *os.File, data []byte) (int, error) {
					if writes++; writes == n {
						part, _ := file.Write(data[:len(data)/2])
						return part, syscall.ENOSPC
					}
					return file.Write(data)
				}
			}
			got, err := Check(m, o)
			if writes < n {
				compareCounts(t, want, got, err)
				break
			}
			failures++
			// A search that was only not saved goes on.
			if err != nil {
				if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room in "+dir) {
					t.Fatalf("write %d failed: error %v", n, err)
				}
				o.onDisk = tiny
				got, err = Check(m, o)
			}
			compareCounts(t, want, got, err)
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
				t.Fatalf("files %v are left, error %v", list, err)
			}
		}
	}
	if failures < 30 {
		t.Errorf("only %d writes failed", failures)
	}
}

// compareCounts compares the results of complete searches.
func compareCounts(t *testing.T, want, got *Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Fatal(diff)
	}
}

// TestExternalDisk: at the bound on the disk the verdict is unknown, and says what to do. With a
// higher bound the search goes on.
func TestExternalDisk(t *testing.T) {
	dir := t.TempDir()
	m := stairs(3)
	want, err := Check(m, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Workers: 2, External: dir, onDisk: tiny, Disk: 1}
	if r, err := Check(m, o); err != nil || r.Verdict != Unknown ||
		!strings.Contains(r.Reason, "the bound on the disk was reached: raise it") {
		t.Errorf("%v, error %v", r, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("files %v are left, error %v", list, err)
	}
	bounds := 0
	o.Resume = filepath.Join(dir, "search")
	for o.Disk = 10_000; ; o.Disk += 10_000 {
		r, err := Check(m, o)
		if err == nil && r.Verdict == Unknown {
			// What is kept at the end has to be written, whatever the bound is.
			if bounds++; r.Disk > int64(o.Disk)+5000 || !strings.Contains(r.Reason, "goes on from") {
				t.Errorf("%v; %d bytes of %d", r, r.Disk, o.Disk)
			}
			continue
		}
		compareCounts(t, want, r, err)
		break
	}
	if bounds < 3 {
		t.Errorf("only %d bounds were met", bounds)
	}
}

// TestExternalRefuses: what cannot work is an error at once, and the file of a search that is kept
// stays as it is.
func TestExternalRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "search")
	refuse := func(what, want string, m *Model, o Options) {
		t.Helper()
		if _, err := Check(m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	for _, o := range []Options{{Search: Local}, {Search: DepthFirst}} {
		o.External = dir
		refuse(o.Search.String(), "only a breadth-first search has its states in files", stairs(2), o)
	}
	refuse("reduced", "if it is not reduced", stairs(2),
		Options{External: dir, Resume: filepath.Join(dir, "reduced"), Reduce: true})
	o := Options{External: filepath.Join(dir, "nowhere"), onDisk: tiny}
	refuse("no directory", "external search: ", stairs(2), o)
	o = Options{External: dir, Resume: file, Depth: 12, onDisk: tiny}
	if r, err := Check(stairs(2), o); err != nil || r.Verdict != Unknown {
		t.Fatalf("%v, error %v", r, err)
	}
	refuse("another model", "another model", stairs(3), o)
	inMemory := o
	inMemory.External = ""
	refuse("in memory", "name their directory in External", stairs(2), inMemory)
	elsewhere := o
	elsewhere.External = t.TempDir()
	refuse("another directory", "name the directory where they are", stairs(2), elsewhere)
	disk, err := newDisk(o, DefaultMemory)
	if err != nil {
		t.Fatal(err)
	}
	name := disk.Name
	damageAll(t, dir, name, func() { refuse("a damaged file", "remove "+file, stairs(2), o) })
	o.Depth = 0
	want, err := Check(stairs(2), Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Check(stairs(2), o)
	compareCounts(t, want, got, err)
}

// damageAll calls try with one byte changed in each file, and with each file cut off and missing.
func damageAll(t *testing.T, dir, name string, try func()) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, entry := range list {
		path := filepath.Join(dir, name, entry.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue // the lock
		}
		damaged++
		changed := append([]byte{}, data...)
		changed[len(data)/2] ^= 1
		for _, wrong := range [][]byte{changed, data[:len(data)-1], nil} {
			if err := os.WriteFile(path, wrong, 0o644); err != nil {
				t.Fatal(err)
			}
			try()
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if damaged < 2 {
		t.Errorf("only %d files", damaged)
	}
}

// kills is how often a search is killed in TestExternalKilled.
var kills = flag.Int("kills", 10, "how often an external search is killed with SIGKILL")

// killedModel has each state seen, so that a line is printed for each.
func killedModel(see func()) *Model {
	m := stairs(3)
	m.Properties[0] = Always("seen", func(_ ID, n Node) int { return n.(*stair).n },
		func([]int) bool { see(); return true })
	return m
}

// childDir names the directory of a search that is to be killed.
const childDir = "TANDEM_EXTERNAL_SEARCH"

// externalOptions are those of a search that is killed, and of the one that goes on.
func externalOptions(dir string, workers int) Options {
	larger := func(d *global.Disk) {
		tiny(d)
		d.Sizes.Table = 20_000
	}
	return Options{Workers: workers, External: dir, Resume: filepath.Join(dir, "search"), onDisk: larger,
		keepAlways: true}
}

// TestExternalKilled: a search in files is killed at some moment, and goes on from there, again and
// again. The result is that of a search that was not.
func TestExternalKilled(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		// It is killed while it does this.
		m := killedModel(func() { fmt.Println("state") })
		if _, err := Check(m, externalOptions(dir, 2)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := Check(killedModel(func() {}), Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for done := 0; done < *kills; {
		if killSearch(t, dir, 1+random.IntN(4000)) {
			done++
			continue
		}
		// It has come to its end before.
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Fatalf("files %v are left, error %v", list, err)
		}
	}
	got, err := Check(killedModel(func() {}), externalOptions(dir, 1))
	compareCounts(t, want, got, err)
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("files %v are left, error %v", list, err)
	}
}

// killSearch runs a search in a process of its own, and kills it after so many lines. It is false
// if the search has ended before.
func killSearch(t *testing.T, dir string, lines int) (isKilled bool) {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestExternalKilled$", "-test.count=1")
	command.Env = append(os.Environ(), childDir+"="+dir)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	text := ""
	for lines > 0 && in.Scan() {
		if in.Text() != "state" {
			text += in.Text() + "\n"
			continue
		}
		lines--
	}
	if lines == 0 {
		_ = command.Process.Kill()
	}
	_, _ = io.Copy(io.Discard, out)
	err = command.Wait()
	if isKilled = lines == 0 && err != nil; !isKilled && err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return isKilled
}
