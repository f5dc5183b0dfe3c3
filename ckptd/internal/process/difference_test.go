package process

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
)

// kindsOfMappings are what mappings of the random address spaces may be: their protection, and what
// follows it in /proc/PID/maps. Some differ in one thing only.
var kindsOfMappings = []string{
	"rw-p 00000000 00:00 0 ", "r--p 00000000 00:00 0 ", "rw-p 00000000 00:00 0 [anon:arena]",
	"r--p 00000000 fe:01 7 /lib/x", "r--p 00001000 fe:01 7 /lib/x", "r--p 00000000 fe:01 8 /lib/x",
}

// drawSpace draws the mappings of a process: some pieces of a few pages, in the order of their
// addresses.
func drawSpace(t *rapid.T, name string) (all []*mappings.Mapping) {
	at := uint64(0x10)
	for range rapid.IntRange(0, 6).Draw(t, name) {
		at += uint64(rapid.IntRange(0, 2).Draw(t, "gap"))
		length := uint64(rapid.IntRange(1, 4).Draw(t, "pages"))
		kind := rapid.SampledFrom(kindsOfMappings).Draw(t, "kind")
		line := fmt.Sprintf("%x000-%x000 %s\n", at, at+length, kind)
		m, err := mappings.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "advised") {
			m.Flags = []string{"rd", "mg"}
		}
		all, at = append(all, m), at+length
	}
	return all
}

// pagesOf is the dumb twin of an address space: what each page is a part of.
func pagesOf(all []*mappings.Mapping) map[uint64]string {
	pages := map[uint64]string{}
	for _, m := range all {
		for at := m.From; at < m.End(); at += pagemap.PageSize {
			pages[at] = describe(m)
		}
	}
	return pages
}

// describe tells a mapping from all that differ in anything.
func describe(m *mappings.Mapping) string {
	c := *m
	return fmt.Sprintf("%+v", c)
}

// TestCompareMappings: a fork of the parent has the memory of the process once it has unmapped and
// mapped what the difference says, page by page. What is common is neither touched nor left out.
func TestCompareMappings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parents, own := drawSpace(t, "mappings of the parent"), drawSpace(t, "mappings of the process")
		for n, m := range own { // most of what a process has is its parent's
			if rapid.Bool().Draw(t, "inherited") {
				at := slices.IndexFunc(parents, func(p *mappings.Mapping) bool {
					return p.From >= m.From && (n+1 == len(own) || p.End() <= own[n+1].From)
				})
				if at >= 0 && (n == 0 || own[n-1].End() <= parents[at].From) {
					own[n] = parents[at]
				}
			}
		}
		d, common, err := compareMappings(7, parents, own)
		if err != nil {
			t.Fatal(err)
		}
		now := pagesOf(parents)
		remove := func(r pagemap.Region) {
			for at := r.From; at < r.To; at += pagemap.PageSize {
				delete(now, at)
			}
		}
		for _, r := range d.unmapped {
			remove(r)
		}
		for _, r := range common {
			if now[r.From] == "" {
				t.Errorf("%#x is common, and unmapped", r.From)
			}
		}
		for _, m := range d.remapped {
			for at := range pagesOf([]*mappings.Mapping{m.Mapping}) {
				if now[at] != "" {
					t.Errorf("%#x is mapped anew over what the parent has", at)
				}
			}
			maps.Copy(now, pagesOf([]*mappings.Mapping{m.Mapping}))
		}
		if want := pagesOf(own); !maps.Equal(now, want) {
			t.Errorf("the fork has\n%v\nwant\n%v\n%+v", now, want, d)
		}
		if len(common)+len(d.remapped) != len(own) {
			t.Errorf("%d are common, %d made anew, of %d", len(common), len(d.remapped), len(own))
		}
	})
}

// TestNoRemap refuses memory that no new mapping could be, and what the kernel gave.
func TestNoRemap(t *testing.T) {
	parse := func(line string, flags ...string) *mappings.Mapping {
		t.Helper()
		m, err := mappings.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m.Flags = flags
		return m
	}
	for name, test := range map[string]struct {
		m    *mappings.Mapping
		fine bool
	}{
		"memory":          {parse("1000-2000 rw-p 0 00:00 0 ", "rd", "wr"), true},
		"the heap":        {parse("1000-2000 rw-p 0 00:00 0 [heap]"), true},
		"a file":          {parse("1000-2000 r--p 0 fe:01 7 /lib/x"), true},
		"a shared file":   {parse("1000-2000 rw-s 0 fe:01 7 /run/x", "sh", "ms"), true},
		"shared memory":   {parse("1000-2000 rw-s 0 00:00 0 "), false},
		"a strange flag":  {parse("1000-2000 rw-p 0 00:00 0 ", "lo"), false},
		"something named": {parse("1000-2000 rw-p 0 00:00 0 [uprobes]"), false},
	} {
		_, _, err := compareMappings(7, nil, []*mappings.Mapping{test.m})
		if (err == nil) != test.fine || err != nil && !errors.Is(err, incarnation.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	vdso := parse("3000-4000 r-xp 0 00:00 0 [vdso]")
	d, _, err := compareMappings(7, []*mappings.Mapping{vdso}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.refuseKernels(7, []*mappings.Mapping{vdso}); !errors.Is(err, incarnation.ErrRefused) {
		t.Errorf("a process without a vDSO: %v", err)
	}
}

// TestHeapOfTheParent is as long as the child's where brk(2) makes it so, and else what it is.
func TestHeapOfTheParent(t *testing.T) {
	heap := func(to uint64) []*mappings.Mapping {
		return []*mappings.Mapping{{From: 0x1000, Length: 0x100, Name: "/bin/x"},
			{From: 0x2000, Length: to - 0x2000, Name: "[heap]"}}
	}
	for name, test := range map[string]struct {
		brk  uint64
		want uint64 // end of the heap
	}{
		"whole pages": {0x5000, 0x5000}, "within the last": {0x4001, 0x5000},
		"elsewhere": {0x9000, 0x3000}, // something else is mapped there
	} {
		parents := heap(0x3000)
		got := withHeapOf(parents, heap(0x5000), test.brk)
		if got[1].End() != test.want || got[0] != parents[0] {
			t.Errorf("%s: the heap ends at %#x", name, got[1].End())
		}
		if parents[1].End() != 0x3000 {
			t.Errorf("%s: the parent was changed", name)
		}
	}
	if got := withHeapOf(heap(0x3000), heap(0x5000)[:1], 0x5000); got[1].End() != 0x3000 {
		t.Error("a child without a heap makes the parent's longer")
	}
}

// ownMemory is memory of the test itself, which it reads and writes as that of a process.
func ownMemory(t testing.TB, pages int) (memory []byte, at uint64) {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, pages*pagemap.PageSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(memory) })
	return memory, uint64(uintptr(unsafe.Pointer(&memory[0])))
}

// drawRegions draws regions of some pages from an address on, in their order, and returns also the
// numbers of their pages.
func drawRegions(t *rapid.T, name string, at uint64, pages int) (all []pagemap.Region, numbers []int) {
	next := 0
	for range rapid.IntRange(0, 4).Draw(t, name) {
		from := next + rapid.IntRange(0, pages/8).Draw(t, "gap")
		to := min(from+rapid.IntRange(1, pages/4).Draw(t, "length"), pages)
		if from >= to {
			break
		}
		all = append(all, pagemap.Region{From: at + uint64(from)*pagemap.PageSize,
			To: at + uint64(to)*pagemap.PageSize})
		for n := from; n < to; n++ {
			numbers = append(numbers, n)
		}
		next = to
	}
	return all, numbers
}

// TestPages: what is read of some pages is written back to them, and to no others. A page that an
// earlier image has at the same address with the same content is that image's, and is not counted.
func TestPages(t *testing.T) {
	const pages = 3 * most / 2
	memory, at := ownMemory(t, pages)
	page := func(n int) []byte { return memory[n*pagemap.PageSize : (n+1)*pagemap.PageSize] }
	rapid.Check(t, func(t *rapid.T) {
		fill := func(n int, b byte) { copy(page(n), bytes.Repeat([]byte{b}, pagemap.PageSize)) }
		for n := range pages {
			fill(n, byte(n%3))
		}
		var earlier, d difference
		regions, before := drawRegions(t, "earlier", at, pages)
		if _, err := earlier.read(os.Getpid(), regions, nil); err != nil {
			t.Fatal(err)
		}
		changed := map[int]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			n := rapid.IntRange(0, pages-1).Draw(t, "page")
			changed[n] = true
			fill(n, 7)
		}
		regions, now := drawRegions(t, "now", at, pages)
		fresh, err := d.read(os.Getpid(), regions, earlier.pages)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, n := range now {
			k := slices.Index(before, n)
			if shared := k >= 0 && !changed[n]; !shared {
				want += pagemap.PageSize
			} else if d.pages[i].content != earlier.pages[k].content {
				t.Errorf("page %d is not shared", n)
			}
		}
		if int(fresh) != want || len(d.pages) != len(now) {
			t.Errorf("%d bytes of %d pages are new, want %d of %d", fresh, len(d.pages), want, len(now))
		}
		saved := bytes.Clone(memory)
		for n := range pages {
			fill(n, 9)
		}
		if err := d.write(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		for n := range pages {
			want := bytes.Repeat([]byte{9}, pagemap.PageSize)
			if slices.Contains(now, n) {
				want = saved[n*pagemap.PageSize : (n+1)*pagemap.PageSize]
			}
			if !bytes.Equal(page(n), want) {
				t.Errorf("page %d is not what it is to be", n)
			}
		}
	})
}

// TestOpenToMap opens the files as they are now, and refuses one that is another than it was. What
// was opened before the error is the caller's.
func TestOpenToMap(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/library", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(root+"/library", &st); err != nil {
		t.Fatal(err)
	}
	top, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(top)
	file := func(name string, inode uint64) mappings.Remap {
		return mappings.Remap{Mapping: &mappings.Mapping{Name: name, Inode: inode}, FromFile: true}
	}
	for name, test := range map[string]struct {
		all  []mappings.Remap
		open int
		fine bool
	}{
		"the same":   {[]mappings.Remap{file("/library", st.Ino), {Mapping: &mappings.Mapping{}}}, 1, true},
		"another":    {[]mappings.Remap{file("/library", st.Ino), file("/library", st.Ino+1)}, 2, false},
		"is missing": {[]mappings.Remap{file("/library", st.Ino), file("/none", 1)}, 1, false},
	} {
		fds, err := (&difference{remapped: test.all}).open(top)
		if len(fds) != test.open || (err == nil) != test.fine {
			t.Errorf("%s: %d are open, %v", name, len(fds), err)
		}
		for _, fd := range fds {
			if err := unix.Close(fd); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
