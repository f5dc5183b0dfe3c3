package sut_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// diskTwin is the dumb twin of a disk that crashes: a list of operations, each with all that it
// sets, of which those that are not lost are done again. Files are numbers; 1 is the directory in
// which the program is, and 0 stands for nothing.
type diskTwin struct {
	base  twinState
	now   twinState // with all operations
	ops   []twinOp
	files int
}

// twinSlot is a name in a directory.
type twinSlot struct {
	dir  int
	name string
}

// twinState is what is on a disk. The kind of a file never changes, so it is there even before the
// file is made, and after it was lost: no name leads to it then.
type twinState struct {
	names    map[twinSlot]int
	kinds    map[int]string // file, directory, link
	contents map[int]string // of a link, where it leads
	modes    map[int]uint32
}

// twinOp is an operation: what comes under names, and what a file is like afterwards.
type twinOp struct {
	text    string
	names   map[twinSlot]int
	of      int // whose content and mode it sets; 0: of none
	content string
	mode    uint32
	makes   int // the file that is new; 0: none is
	durable bool
}

// newDiskTwin is the twin of a directory as furnish makes it.
func newDiskTwin() *diskTwin {
	s := twinState{map[twinSlot]int{}, map[int]string{}, map[int]string{}, map[int]uint32{}}
	for i, f := range []struct {
		slot    twinSlot
		kind    string
		content string
		mode    uint32
	}{
		{kind: "directory", mode: 0o755},
		{twinSlot{1, "full"}, "directory", "", 0o755},
		{twinSlot{2, "one"}, "file", "1", 0o644},
		{twinSlot{2, "two"}, "file", "2", 0o644},
		{twinSlot{1, "config"}, "file", strings.Repeat("configured\n", 60)[:600], 0o644},
		{twinSlot{1, "link"}, "link", "full", 0o777},
	} {
		if i > 0 {
			s.names[f.slot] = i + 1
		}
		s.kinds[i+1], s.contents[i+1], s.modes[i+1] = f.kind, f.content, f.mode
	}
	return &diskTwin{base: s, now: s.clone(), files: len(s.kinds)}
}

// clone is a copy, which changes by itself.
func (s twinState) clone() twinState {
	c := twinState{map[twinSlot]int{}, map[int]string{}, map[int]string{}, map[int]uint32{}}
	for k, v := range s.names {
		c.names[k] = v
	}
	for k, v := range s.kinds {
		c.kinds[k], c.contents[k], c.modes[k] = v, s.contents[k], s.modes[k]
	}
	return c
}

// do has an operation done.
func (s twinState) do(o twinOp) {
	for slot, file := range o.names {
		if s.names[slot] = file; file == 0 {
			delete(s.names, slot)
		}
	}
	if o.of != 0 {
		s.contents[o.of], s.modes[o.of] = o.content, o.mode
	}
}

// find is where a path leads: a name, and the file there. Only the last name may be a link.
func (s twinState) find(name string) (slot twinSlot, file int, ok bool) {
	if name == "." {
		return slot, 1, true
	}
	dir := 1
	for {
		first, rest, more := strings.Cut(name, "/")
		slot = twinSlot{dir, first}
		if !more {
			return slot, s.names[slot], true
		}
		if dir = s.names[slot]; s.kinds[dir] == "link" { // all lead to a directory beside them
			dir = s.names[twinSlot{slot.dir, s.contents[dir]}]
		}
		if s.kinds[dir] != "directory" {
			return slot, 0, false
		}
		name = rest
	}
}

// opened is find of a file that is opened, so that links at the end are followed.
func (s twinState) opened(name string) (file int) {
	slot, file, ok := s.find(name)
	if ok && s.kinds[file] == "link" {
		file = s.names[twinSlot{slot.dir, s.contents[file]}]
	}
	return file
}

// empty reports whether a directory is.
func (s twinState) empty(dir int) bool {
	for slot := range s.names {
		if slot.dir == dir {
			return false
		}
	}
	return true
}

// below reports whether a directory is another one, or in it.
func (s twinState) below(dir, other int) bool {
	if dir == other {
		return true
	}
	for slot, file := range s.names {
		if file == dir {
			return s.below(slot.dir, other)
		}
	}
	return false
}

// run does a line of the program, and returns what the checker is to be told of: how the words of
// each operation begin. Some lines fail or change nothing; then it is told of nothing.
func (d *diskTwin) run(line string) (told []string) {
	before := len(d.ops)
	w := strings.Fields(line)
	if synced := d.line(w); synced != "" {
		told = append(told, synced)
	}
	for _, o := range d.ops[before:] {
		told = append(told, o.text)
	}
	if w[0] == "durable" && len(told) > 0 {
		d.sync(d.now.opened(w[1]))
	}
	return told
}

// put adds an operation.
func (d *diskTwin) put(o twinOp) {
	d.ops = append(d.ops, o)
	d.now.do(o)
}

// line does the operations of a line whose words are given. It returns what a sync is told as.
func (d *diskTwin) line(w []string) (synced string) {
	slot, file, ok := d.now.find(w[len(w)-1])
	if w[0] == "write" || w[0] == "append" || w[0] == "durable" || w[0] == "truncate" || w[0] == "chmod" ||
		w[0] == "empty" || w[0] == "sync" {
		return d.change(w, d.now.opened(w[1]))
	}
	switch w[0] {
	case "syncall":
		return d.syncAll()
	case "create", "mkdir", "unlink", "rmdir":
		slot, file, ok = d.now.find(w[1])
	}
	if !ok || slot == (twinSlot{}) {
		return ""
	}
	kind := d.now.kinds[file]
	switch w[0] {
	case "create", "mkdir", "symlink":
		if file == 0 {
			d.make(w, slot)
		}
	case "unlink", "rmdir":
		directory := kind == "directory"
		if file != 0 && directory == (w[0] == "rmdir") && (!directory || d.now.empty(file)) {
			d.put(twinOp{text: "remove " + d.text(slot), names: map[twinSlot]int{slot: 0}})
		}
	case "link":
		from, old, ok := d.now.find(w[1])
		if ok && old != 0 && d.now.kinds[old] != "directory" && file == 0 {
			d.put(twinOp{text: "link " + d.text(from) + " to " + d.text(slot),
				names: map[twinSlot]int{slot: old}})
		}
	case "rename":
		d.rename(w[1], slot, file)
	}
	return ""
}

// make makes a new file.
func (d *diskTwin) make(w []string, slot twinSlot) {
	d.files++
	o := twinOp{text: w[0] + " " + d.text(slot), names: map[twinSlot]int{slot: d.files}, makes: d.files}
	d.now.kinds[d.files], d.now.modes[d.files] = "file", 0o644
	switch w[0] {
	case "mkdir":
		d.now.kinds[d.files], d.now.modes[d.files] = "directory", 0o755
	case "symlink":
		d.now.kinds[d.files], d.now.modes[d.files], d.now.contents[d.files] = "link", 0o777, w[1]
	}
	d.base.kinds[d.files], d.base.modes[d.files], d.base.contents[d.files] = d.now.kinds[d.files],
		d.now.modes[d.files], d.now.contents[d.files]
	d.put(o)
}

// text is where a name is.
func (d *diskTwin) text(slot twinSlot) string {
	for above, file := range d.now.names {
		if file == slot.dir {
			return d.text(above) + "/" + slot.name
		}
	}
	return slot.name
}

// rename is rename, to a place where a file is, or none. It fails, or does nothing, if both
// names are those of one file, if a directory would come into itself or take the place of something
// else, or if what is there has something in it.
func (d *diskTwin) rename(name string, to twinSlot, there int) {
	from, file, ok := d.now.find(name)
	directory := d.now.kinds[file] == "directory"
	switch {
	case !ok, file == 0, file == there, from == twinSlot{}, directory && d.now.below(to.dir, file):
		return
	case there != 0 && (d.now.kinds[there] == "directory") != directory, directory && !d.now.empty(there):
		return
	case there != 0 && d.now.below(from.dir, there):
		return
	}
	d.put(twinOp{text: "rename " + d.text(from) + " to " + d.text(to),
		names: map[twinSlot]int{from: 0, to: file}})
}

// change changes what is in a file, or its mode, or syncs it. A file that has been given the mode
// that it has is as it was; one that was truncated to its size was changed now.
func (d *diskTwin) change(w []string, file int) (synced string) {
	kind := d.now.kinds[file]
	if file == 0 || kind == "directory" && w[0] != "sync" && w[0] != "chmod" {
		return ""
	}
	o := twinOp{text: w[0], of: file, content: d.now.contents[file], mode: d.now.modes[file]}
	switch w[0] {
	case "sync":
		if d.sync(file) {
			return "sync"
		}
		return ""
	case "chmod":
		o.mode = uint32(number(w[2]))
	case "empty":
		o.text, o.content = "truncate", ""
	case "truncate":
		o.content = (o.content + strings.Repeat("\x00", number(w[2])))[:number(w[2])]
	default:
		at, size := len(o.content), number(w[len(w)-1])
		if w[0] != "append" {
			at = number(w[2])
		}
		if o.text = fmt.Sprintf("write %d bytes", size); w[0] == "durable" {
			o.text = fmt.Sprintf("write and sync %d bytes", size)
		}
		content := o.content + strings.Repeat("\x00", max(0, at-len(o.content)))
		o.content = content[:at] + twinBytes(size) + content[min(len(content), at+size):]
		if size == 0 {
			return ""
		}
	}
	if w[0] == "chmod" && o.mode == d.now.modes[file] {
		return ""
	}
	d.put(o)
	return ""
}

// twinBytes is what the program writes.
func twinBytes(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(size + i*i)
	}
	return string(b)
}

// number is the number that a word of a line is.
func number(word string) int {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// syncAll makes all durable.
func (d *diskTwin) syncAll() (synced string) {
	for i := range d.ops {
		if !d.ops[i].durable {
			d.ops[i].durable, synced = true, "sync all"
		}
	}
	return synced
}

// sync makes durable what concerns a file, by asking again and again whether there is more.
func (d *diskTwin) sync(file int) (some bool) {
	made := map[int]bool{file: true}
	for more := true; more; {
		more = false
		for i := range d.ops {
			o := &d.ops[i]
			if o.durable || !d.concerns(o, i, file, made) {
				continue
			}
			o.durable, some, more = true, true, true
		}
	}
	return some
}

// concerns reports whether an operation becomes durable with a file. It adds to those that were
// made the directory in which one of them was.
func (d *diskTwin) concerns(o *twinOp, i, file int, made map[int]bool) bool {
	if o.of == file {
		return true
	}
	for slot := range o.names {
		if slot.dir == file {
			return true
		}
		if o.makes != 0 && made[o.makes] {
			made[slot.dir] = true
			return true
		}
		for _, later := range d.ops[i+1:] {
			if _, same := later.names[slot]; same && later.durable {
				return true
			}
		}
	}
	return false
}

// crash is what is found after a crash before a number of operations were done that are still to
// come, if some of the last that are not durable are lost.
func (d *diskTwin) crash(lost int) string {
	kept := slices.Clone(d.ops)
	for i := len(kept) - 1; i >= 0 && lost > 0; i-- {
		if !kept[i].durable {
			kept, lost = slices.Delete(kept, i, i+1), lost-1
		}
	}
	s := d.base.clone()
	for _, o := range kept {
		s.do(o)
	}
	return s.found()
}

// unsynced is how many operations are not durable.
func (d *diskTwin) unsynced() (n int) {
	for _, o := range d.ops {
		if !o.durable {
			n++
		}
	}
	return n
}

// found is what the program prints of a disk: a line for each name, in the order of a walk.
// Directories that nothing leads to, and what is in them, are not there, and count for no links.
func (s twinState) found() string {
	links, subdirectories := map[int]int{}, map[int]int{}
	for slot, file := range s.names {
		if s.reachable(slot.dir) {
			links[file]++
		}
		if s.kinds[file] == "directory" {
			subdirectories[slot.dir]++
		}
	}
	var lines []string
	var walk func(name string, file int)
	walk = func(name string, file int) {
		switch mode, content := s.modes[file], s.contents[file]; s.kinds[file] {
		case "directory":
			lines = append(lines, fmt.Sprintf("%s %o %d", name, 0o40000|mode, 2+subdirectories[file]))
		case "link":
			lines = append(lines, fmt.Sprintf("%s %o %d %s", name, 0o120000|mode, links[file], content))
		default:
			h := fnv.New32a()
			h.Write([]byte(content))
			lines = append(lines, fmt.Sprintf("%s %o %d %d %d %d <nil>", name, 0o100000|mode, links[file],
				len(content), len(content), h.Sum32()))
		}
		var in []string
		for slot := range s.names {
			if slot.dir == file {
				in = append(in, slot.name)
			}
		}
		slices.Sort(in)
		for _, below := range in {
			walk(path.Join(name, below), s.names[twinSlot{file, below}])
		}
	}
	walk(".", 1)
	return strings.Join(lines, "\n") + "\n"
}

// reachable reports whether a directory is in the tree.
func (s twinState) reachable(dir int) bool {
	if dir == 1 {
		return true
	}
	for slot, file := range s.names {
		if file == dir {
			return s.reachable(slot.dir)
		}
	}
	return false
}

var diskSeeds = flag.Int("disk-seeds", 15, "random programs whose crashes are compared with the twin")

// randomLines is a program.
func randomLines(random *rand.Rand) (lines []string) {
	if lines = []string{"create a", "mkdir d", "append a 5", "create d/a"}; random.IntN(3) == 0 {
		lines = nil
	}
	names := []string{"a", "b", "c", "config", "d", "e", "d/a", "d/b", "e/a", "full/one", "full/x", "d/e",
		"link/two", "full", "d/e/a", "s"}
	name := func() string { return names[random.IntN(len(names))] }
	for range 30 + random.IntN(30) {
		size := []int{1, 5, 4096, 5000, 9000}[random.IntN(5)]
		lines = append(lines, []string{
			"create " + name(), "create " + name(),
			"mkdir " + []string{"d", "e", "d/e"}[random.IntN(3)],
			fmt.Sprintf("write %s %d %d", name(), random.IntN(2)*4000, size),
			fmt.Sprintf("append %s %d", name(), size),
			fmt.Sprintf("durable %s %d %d", name(), random.IntN(2)*4000, size), "empty " + name(),
			fmt.Sprintf("truncate %s %d", name(), size), "rename " + name() + " " + name(),
			"rename " + name() + " " + name(), "link " + name() + " " + name(), "symlink full s",
			"unlink " + name(), "rmdir " + name(), fmt.Sprintf("chmod %s 0%o", name(), 0o700|random.IntN(8)),
			"sync " + name(), "sync " + name(), []string{"sync .", "sync d", "syncall"}[random.IntN(3)],
		}[random.IntN(18)])
	}
	return lines
}

// TestDiskAgainstTwin: random programs that crash anywhere, and lose as much as they can, leave
// what the twin says. Who finds that, and changes nothing, leaves the same.
func TestDiskAgainstTwin(t *testing.T) {
	c := &twinComparison{}
	for seed := range *diskSeeds {
		c.random = rand.New(rand.NewPCG(uint64(seed), 1))
		c.lines = randomLines(c.random)
		t.Run(fmt.Sprint(seed), c.compare)
	}
	if c.lost < 10**diskSeeds || c.durable == 0 {
		t.Errorf("%d crashes lost something, %d operations were durable: the test says little", c.lost,
			c.durable)
	}
}

// twinComparison compares crashes of a program with those of the twin.
type twinComparison struct {
	random *rand.Rand
	lines  []string
	worker crashingDisk
	show   func(disk []byte) string
	whole  crashed // an execution without a crash

	lost, durable int // crashes that lost something, and operations that were durable at one
}

// compare follows the twin through the program, and crashes before each of its operations.
func (c *twinComparison) compare(t *testing.T) {
	c.worker = startDisk(t, sut.Snapshot, false, c.lines...)
	c.show, c.whole = c.worker.printer(t), c.worker.crash(t, nil, 0, 0)
	twin, at := newDiskTwin(), 0
	for _, line := range c.lines {
		before := *twin
		before.ops, before.now = slices.Clone(twin.ops), twin.now.clone()
		for _, want := range twin.run(line) {
			if at++; at > len(c.whole.Inputs) || !strings.HasPrefix(c.whole.Inputs[at-1], "disk "+want) {
				t.Fatalf("%q of\n%s\nwant %q; inputs:\n%s", line, strings.Join(c.lines, "\n"), want,
					strings.Join(c.whole.Inputs, "\n"))
			}
			c.crash(t, &before, at)
		}
	}
	if at != len(c.whole.Inputs) {
		t.Fatalf("%q are too many inputs, of\n%s", c.whole.Inputs[at:], strings.Join(c.lines, "\n"))
	}
}

// crash compares crashes at an input. before is the twin as it was before that.
func (c *twinComparison) crash(t *testing.T, before *diskTwin, at int) {
	unsynced := before.unsynced()
	if got := c.whole.Unsynced[at-1]; got != unsynced {
		t.Fatalf("%d operations are not durable at %s, want %d", got, c.whole.Inputs[at-1], unsynced)
	}
	c.durable += len(before.ops) - unsynced
	for lost := 0; lost <= unsynced; lost += 1 + c.random.IntN(2) {
		got := c.worker.crash(t, nil, at, lost)
		diff := cmp.Diff(before.crash(lost), c.show(got.Disk))
		if diff != "" || got.Outcome != sut.Crashed || got.Left != unsynced {
			t.Fatalf("%v at %s, %d of %d lost (-twin):\n%s\nafter\n%s", got.Outcome, c.whole.Inputs[at-1],
				lost, got.Left, diff, strings.Join(c.whole.Inputs[:at-1], "\n"))
		}
		c.lost += min(lost, 1)
		// It crashes before it does anything.
		again := c.worker.crash(t, got.Disk, 1, 0)
		if again.Outcome == sut.Crashed && string(again.Disk) != string(got.Disk) {
			t.Fatalf("a disk that does not change is\n%q, and then\n%q", got.Disk, again.Disk)
		}
	}
}
