package sut_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// diskProgram is the program that changes a disk, built once, without and with the race detector.
var diskPrograms = [2]func() (*sut.Program, error){
	sync.OnceValues(func() (*sut.Program, error) { return buildDisk() }),
	sync.OnceValues(func() (*sut.Program, error) { return buildDisk("direct") }),
}

// buildDisk builds it, with races watched in some packages.
func buildDisk(races ...string) (*sut.Program, error) {
	dir, err := os.MkdirTemp("", "tandem-disk-")
	if err != nil {
		return nil, err
	}
	return build(dir, "./testdata/disk", races...)
}

// crashingDisk is a worker of a program with a disk, in a directory like that of furnish.
type crashingDisk struct {
	*sut.Worker
	dir string
}

// startDisk starts a worker that does what lines say, in a directory of its own; startDiskIn in one
// that others use, too.
func startDisk(t testing.TB, isolation sut.Isolation, races bool, lines ...string) crashingDisk {
	t.Helper()
	return startDiskIn(t, furnish(t), isolation, races, lines...)
}

func startDiskIn(t testing.TB, dir string, isolation sut.Isolation, races bool,
	lines ...string) crashingDisk {
	t.Helper()
	i := 0
	if races {
		i = 1
	}
	p, err := diskPrograms[i]()
	if err != nil {
		t.Fatal(err)
	}
	w, err := sut.Start(p, sut.Options{Args: lines, Dir: dir, Isolation: isolation, PlaceGap: 1,
		Environment: sut.Environment{Inputs: sut.Inputs{Crashes: true, PerConnection: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return crashingDisk{w, dir}
}

// noPeers answer inputs that are about the disk.
type noPeers struct{}

// Exchange implements sut.Peers.
func (noPeers) Exchange(model.Input) (model.Answer, error) { return model.Answer{}, nil }

// crashed is what is left of an execution that crashed, or of one that went on.
type crashed struct {
	Inputs   []string
	Unsynced []int  // at each input
	Found    string // before the execution did anything
	Disk     []byte
	Left     int // operations that were not durable
	Outcome  sut.Outcome
}

// crash runs an execution with a disk, up to an input; 0: to the end.
func (w crashingDisk) crash(t testing.TB, disk []byte, at, lost int) crashed {
	t.Helper()
	peers := &crashing{Peers: noPeers{}, at: at, lost: lost}
	log := run(t, w.Worker, sut.Schedule{Beginning: sut.Beginning{Disk: disk}}, peers)
	if log.Outcome != sut.Crashed && log.Outcome != sut.Completed {
		t.Fatalf("%v: %s%s", log.Outcome, log.Message, log.Stderr)
	}
	found, _, _ := strings.Cut(string(log.Stdout), "--\n")
	c := crashed{Found: found, Disk: log.Disk, Left: log.Unsynced, Outcome: log.Outcome,
		Unsynced: peers.unsynced}
	for _, in := range peers.inputs {
		c.Inputs = append(c.Inputs, strings.ReplaceAll(in, w.dir+"/", ""))
	}
	return c
}

// printer returns a function that has another worker print what is on a disk.
func (w crashingDisk) printer(t testing.TB) func(disk []byte) string {
	p := startDiskIn(t, w.dir, sut.Snapshot, false)
	return func(disk []byte) string { return p.crash(t, disk, 0, 0).Found }
}

// TestCrashOfRename: a file that is replaced by a new one in the usual way is the old one or the
// new one after a crash anywhere. If the directory alone was synced, it may be empty.
func TestCrashOfRename(t *testing.T) {
	write := []string{"create new", "write new 0 5000"}
	rename := []string{"rename new config", "sync ."}
	for _, synced := range []bool{true, false} {
		lines := append([]string{}, write...)
		if synced {
			lines = append(lines, "sync new")
		}
		w := startDisk(t, sut.Snapshot, false, append(lines, rename...)...)
		show := w.printer(t)
		whole := w.crash(t, nil, 0, 0)
		want := []string{"disk create new", "disk write 5000 bytes to new"}
		if synced {
			want = append(want, "disk sync new")
		}
		want = append(want, "disk rename new to config", "disk sync "+w.dir)
		if diff := cmp.Diff(want, whole.Inputs); diff != "" {
			t.Errorf("inputs:\n%s", diff)
		}
		configs := map[string]bool{}
		for at := 1; at <= len(want); at++ {
			for lost := 0; lost <= w.crash(t, nil, at, 0).Left; lost++ {
				for line := range strings.Lines(show(w.crash(t, nil, at, lost).Disk)) {
					if fields := strings.Fields(line); fields[0] == "config" {
						configs[fields[3]] = true
					}
				}
			}
		}
		// The last operations are lost, so a rename never survives what is before it.
		if diff := cmp.Diff(map[string]bool{"600": true, "5000": true}, configs); diff != "" {
			t.Errorf("synced %v: sizes of the file:\n%s", synced, diff)
		}
	}
	// Without a sync of the file the directory may be synced alone: then the file is empty.
	w := startDisk(t, sut.Snapshot, false, append(append(write, rename...), "create x")...)
	if got := w.printer(t)(w.crash(t, nil, 5, 9).Disk); !strings.Contains(got, "config 100644 1 0 0 ") {
		t.Errorf("found:\n%s", got)
	}
}

// TestDiskIsLikeBefore: an execution with the disk of a crash finds what the one before has left,
// of all kinds of files and names, and leaves the same disk if it changes nothing more.
func TestDiskIsLikeBefore(t *testing.T) {
	lines := []string{"create a", "write a 10000 20", "link a b", "chmod a 0600", "symlink a s", "mkdir d",
		"create d/x", "append d/x 7", "rename full moved", "create moved/one2", "unlink moved/two",
		"append config 3", "link config same", "rename link other", "mkdir e", "rmdir e", "create f",
		"unlink f", "chmod moved/one 0644", "create g", "truncate g 9000", "empty a", "hold g 5", "create z"}
	w := startDisk(t, sut.Snapshot, false, lines...)
	show := w.printer(t)
	inputs := w.crash(t, nil, 0, 0).Inputs
	last := w.crash(t, nil, len(inputs), 0)
	want := strings.Join([]string{". 40755 4", "a 100600 2 0 0 2166136261 <nil>",
		"b 100600 2 0 0 2166136261 <nil>", "config 100644 2 603 603 ", "d 40755 2", "d/x 100644 1 7 7 ",
		"moved 40755 2", "moved/one 100644 1 1 1 ", "moved/one2 100644 1 0 0 2166136261 <nil>",
		"other 120777 1 full", "s 120777 1 a", "same 100644 2 603 603 "}, "\n")
	got := show(last.Disk)
	for i, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if lines := strings.Split(want, "\n"); i >= len(lines) || !strings.HasPrefix(line, lines[i]) {
			t.Fatalf("line %d of\n%s\nwant\n%s", i, got, want)
		}
	}
	idle := startDiskIn(t, w.dir, sut.Snapshot, false, "create z")
	if again := idle.crash(t, last.Disk, 1, 0); string(again.Disk) != string(last.Disk) {
		t.Errorf("the disk is\n%q, and after an execution that changes nothing\n%q", last.Disk, again.Disk)
	}
}

// TestDiskEarly: package initialisation finds the disk of the schedule, and what it writes is
// written again.
func TestDiskEarly(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork, sut.FromMain} {
		dir := furnish(t)
		w := startDiskIn(t, dir, isolation, false, "early", "create a", "write a 0 3", "create b")
		nothing := w.crash(t, nil, 1, 0)
		some := w.crash(t, nil, 3, 0)
		other := w.crash(t, some.Disk, 0, 0)
		if want := "early \"\\x03\\x04\\a\"\n"; !strings.HasPrefix(other.Found, want) ||
			!strings.HasPrefix(nothing.Found, "early \"\"\n") {
			t.Errorf("%v: found %q, then %q, want %q", isolation, nothing.Found, other.Found, want)
		}
		if again := w.crash(t, nil, 1, 0); again.Found != nothing.Found {
			t.Errorf("%v: without the disk %q is found, want %q", isolation, again.Found, nothing.Found)
		}
		w = startDiskIn(t, dir, isolation, false, "early write", "unlink early", "create b", "create c")
		some = w.crash(t, nil, 3, 0)
		if again := w.crash(t, some.Disk, 3, 0); !strings.Contains(again.Found, "early 100644 1 0") {
			t.Errorf("%v: found %q", isolation, again.Found)
		}
	}
}

// TestDiskDoesNotFit: what is no disk, and one that the machine lacks something for, are errors.
func TestDiskDoesNotFit(t *testing.T) {
	dir := furnish(t)
	w := startDiskIn(t, dir, sut.Snapshot, false, "rename config new", "create full/x", "create a")
	disk := w.crash(t, nil, 3, 0).Disk
	if _, err := w.Run(sut.Schedule{Beginning: sut.Beginning{Disk: disk[:len(disk)-1]}}, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "the disk of a schedule is damaged: record ") {
		t.Errorf("error %v", err)
	}
	if found := w.crash(t, disk, 0, 0).Found; !strings.Contains(found, "new 100644 1 600 600") {
		t.Errorf("found %q", found)
	}
	below := startDiskIn(t, dir, sut.Snapshot, false, "create full/x", "create a").crash(t, nil, 2, 0).Disk
	for gone, want := range map[string]string{
		dir:             "/full of the disk is in a directory that the machine does not have",
		dir + "/full":   "/full of the disk was " + dir + "/full, which the machine does not have",
		dir + "/config": "/new of the disk was " + dir + "/config, which the machine does not have",
	} {
		w := startDiskIn(t, dir, sut.Snapshot, false, "create b")
		if err := os.Rename(gone, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		found := below
		if strings.HasSuffix(gone, "config") {
			found = disk
		}
		_, err := w.Run(sut.Schedule{Beginning: sut.Beginning{Disk: found}}, noPeers{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if err := os.Rename(dir+"-away", gone); err != nil {
			t.Fatal(err)
		}
	}
	without := start(t, sut.Snapshot, "counter")
	if _, err := without.Run(sut.Schedule{Beginning: sut.Beginning{Disk: disk}}, nil); err == nil ||
		err.Error() != "a schedule has a disk, but Environment.Crashes is not set" {
		t.Errorf("error %v", err)
	}
}

// TestDiskTimes: when a file or a directory was changed last is as the changes that are left say.
func TestDiskTimes(t *testing.T) {
	tests := []struct {
		lines []string
		lost  int
		want  string // after the start, for the directory
	}{
		{[]string{"create a", "touch a 1000000000", "create z"}, 0, "a 1000000000\n. 0\n"},
		{[]string{"create a", "sleep 5", "create b", "sync .", "create z"}, 9, "a 0\n. 5\n"},
		{[]string{"create a", "sleep 5", "create b", "create z"}, 1, "a 0\n. 0\n"},
		// What is lost is older than what is left.
		{[]string{"create c", "sleep 5", "create a", "sync a", "create z"}, 9, "a 5\n. 5\n"},
		{[]string{"create a", "sleep 5", "append a 5", "create z"}, 1, "a 0\n. 0\n"},
		{[]string{"create a", "sleep 5", "append a 5", "sleep 5", "empty a", "create z"}, 1, "a 5\n. 0\n"},
	}
	for _, test := range tests {
		w := startDisk(t, sut.Snapshot, false, test.lines...)
		left := w.crash(t, nil, len(w.crash(t, nil, 0, 0).Inputs), test.lost)
		log := run(t, startDiskIn(t, w.dir, sut.Snapshot, false, "time a", "time .").Worker,
			sut.Schedule{Beginning: sut.Beginning{Disk: left.Disk}}, noPeers{})
		_, got, _ := strings.Cut(string(log.Stdout), "--\n")
		for s := range 6 {
			since := fmt.Sprintf(" %d\n", s)
			got = strings.ReplaceAll(got, fmt.Sprintf(" %d\n", sut.DefaultStart+s), since)
		}
		if got != test.want {
			t.Errorf("%q, %d lost: %q, want %q", test.lines, test.lost, got, test.want)
		}
	}
}

// TestDiskLimit: where a crash undoes what had made room on the disk, the execution is cut off.
func TestDiskLimit(t *testing.T) {
	p, err := diskPrograms[0]()
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"create a", "write a 0 40000", "sync a", "unlink a", "create b", "write b 0 40000",
		"sync b", "create z"}
	w, err := sut.Start(p, sut.Options{Dir: furnish(t), Args: lines,
		Environment: sut.Environment{Disk: 64 << 10, Inputs: sut.Inputs{Crashes: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for lost, want := range []sut.Outcome{sut.Crashed, sut.OtherLimit} {
		log := run(t, w, sut.Schedule{}, &crashing{Peers: noPeers{}, at: 8, lost: lost})
		if log.Outcome != want || lost > 0 && !strings.Contains(log.Message, "room for (disk_mib in") {
			t.Errorf("%d lost: %v %q, want %v", lost, log.Outcome, log.Message, want)
		}
	}
}

// TestDiskIsTheSame: a schedule leaves the same log and the same disk again, in all kinds of
// isolation, with the race detector and without, and wherever the execution begins.
func TestDiskIsTheSame(t *testing.T) {
	lines := []string{"create a", "append a 5", "sync a", "unlink a", "go", "create b", "append b 5000",
		"rename b a", "sync .", "go", "mkdir d", "create d/a", "append d/a 3", "sync d/a", "rename d full/d"}
	dir := furnish(t)
	workers := map[string]crashingDisk{
		"snapshot": startDiskIn(t, dir, sut.Snapshot, false, lines...),
		"fork":     startDiskIn(t, dir, sut.Fork, false, lines...),
		"main":     startDiskIn(t, dir, sut.FromMain, false, lines...),
		"races":    startDiskIn(t, dir, sut.Snapshot, true, lines...),
	}
	disks, began := map[string]bool{}, 0
	var found []byte
	for seed := range uint64(60) {
		at, lost := 1+int(seed%11), int(seed%5)
		var prefix []model.Action
		var want *sut.Log
		for _, name := range []string{"main", "snapshot", "fork", "races", "snapshot"} {
			s := sut.Schedule{Seed: seed + 1, Beginning: sut.Beginning{Disk: found}}
			if s.Prefix = prefix; prefix != nil {
				s.Seed = 0
			}
			got := copyLog(run(t, workers[name].Worker, s, &crashing{Peers: noPeers{}, at: at, lost: lost}))
			if want == nil {
				want = &got
				for i := range got.Events {
					if e := &got.Events[i]; e.Kind == sut.Stepped {
						prefix = append(prefix, e.Action())
					}
				}
				continue
			}
			if began += min(got.From, 1); name == "races" {
				got.Events, want.Events = nil, nil // addresses differ
			}
			got.From, got.Weight, got.RarePoints = want.From, want.Weight, want.RarePoints
			if diff := cmp.Diff(*want, got); want.Events != nil && diff != "" {
				t.Fatalf("seed %d, crash at %d: %s differs:\n%s", seed, at, name, diff)
			}
			if string(got.Disk) != string(want.Disk) || got.Outcome != want.Outcome {
				t.Fatalf("seed %d, crash at %d: %s: %v, want %v; disks\n%q\n%q", seed, at, name, got.Outcome,
					want.Outcome, got.Disk, want.Disk)
			}
		}
		if want.Outcome == sut.Crashed {
			disks[string(want.Disk)] = true
			if found = nil; seed%3 != 0 {
				found = want.Disk
			}
		}
	}
	if len(disks) < 10 || began == 0 {
		t.Errorf("%d different disks, %d executions began at a place", len(disks), began)
	}
}
