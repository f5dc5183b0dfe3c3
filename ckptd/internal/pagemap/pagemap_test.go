package pagemap

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestOwnPages touches pages at random and finds just those.
func TestOwnPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	size := os.Getpagesize()
	for range 50 {
		pages := 1 + random.IntN(64)
		memory, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil {
			t.Fatal(err)
		}
		from := uint64(uintptr(unsafe.Pointer(&memory[0])))
		end := from + uint64(len(memory))
		var want []Region
		for n := range pages {
			address := from + uint64(n*size)
			switch random.IntN(3) {
			case 0:
				memory[n*size] = 1
				want = appendRegion(want, Region{address, address + uint64(size)})
			case 1: // the empty page that all processes share
				_ = memory[n*size]
			}
		}
		all, err := OwnPages(os.Getpid(), Region{})
		if errors.Is(err, ErrNoScan) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := within(all, from, end)
		if !slices.Equal(got, want) {
			t.Fatalf("%d pages from %#x on: %x, want %x", pages, from, got, want)
		}
		bytes, total := uint64(0), int64(0)
		for _, r := range want {
			bytes += r.To - r.From
		}
		if total, err = ExclusiveBytes(os.Getpid(), want); err != nil || total != int64(bytes) {
			t.Fatalf("%d bytes are the process's alone, want %d: %v", total, bytes, err)
		}
		in := Region{from, end}
		if Touched(all, in) != (len(want) > 0) || Touched(nil, in) {
			t.Fatalf("the mapping is touched: %t, its pages: %x", Touched(all, in), want)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Fatal(err)
		}
	}
}

// within are the parts of regions that lie between two addresses.
func within(all []Region, from, end uint64) (part []Region) {
	for _, r := range all {
		part = appendRegion(part, Region{max(r.From, from), min(r.To, end)})
	}
	return part
}

// TestOwnPagesWithoutThoseOfCalls leaves out the mapping for calls, also where others touch it.
func TestOwnPagesWithoutThoseOfCalls(t *testing.T) {
	size := os.Getpagesize()
	left := 16 * size
	memory, err := unix.Mmap(-1, 0, left+2*size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	for at := 0; at < len(memory); at += size {
		memory[at] = 1
	}
	from, end := uint64(uintptr(unsafe.Pointer(&memory[0]))),
		uint64(uintptr(unsafe.Pointer(&memory[0])))+uint64(len(memory))
	injected := from + uint64(size)
	all, err := OwnPages(os.Getpid(), Region{injected, injected + uint64(left)})
	if errors.Is(err, ErrNoScan) {
		t.Skip(err)
	}
	want := []Region{{from, injected}, {end - uint64(size), end}}
	if got := within(all, from, end); err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, want %x: %v", got, want, err)
	}
}

// TestOwnRuns compares runs of pages with what each page says by itself.
func TestOwnRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var entries []byte
		var want, got []uint64
		for n := range random.Uint64N(20) {
			e := []uint64{0, present, swapped, present | ofFile,
				ofFile}[random.IntN(5)]
			if e == present || e == swapped {
				want = append(want, n)
			}
			entries = binary.NativeEndian.AppendUint64(entries, e)
		}
		last := uint64(0)
		for first, run := range OwnRuns(entries) {
			if run == 0 || len(got) > 0 && first <= last {
				t.Fatalf("a run of %d pages begins at %d, after one that ends before %d", run, first, last)
			}
			for n := range run {
				got = append(got, first+n)
			}
			last = first + run
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestCompare has the process compare itself with itself: only outside of what is mapped alike
// nothing is shared, and nowhere a page is missing.
func TestCompare(t *testing.T) {
	size := uint64(os.Getpagesize())
	memory, err := unix.Mmap(-1, 0, 8*int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	for at := uint64(0); at < 8*size; at += size {
		memory[at] = 1
	}
	from := uint64(uintptr(unsafe.Pointer(&memory[0])))
	end := from + 8*size
	common := []Region{{from + size, from + 3*size}, {from + 5*size, end}}
	d, err := Compare(os.Getpid(), os.Getpid(), common, Region{from + 4*size, from + 5*size})
	if errors.Is(err, ErrNoScan) {
		t.Skip(err)
	}
	want := []Region{{from, from + size}, {from + 3*size, from + 4*size}}
	if got := within(d.Own, from, end); err != nil || !slices.Equal(got, want) {
		t.Errorf("not shared are %x, want %x: %v", got, want, err)
	}
	if got := within(d.Emptied, from, end); len(got) > 0 {
		t.Errorf("pages are missing at %x", got)
	}
}

// TestDiffers knows pages by their numbers in the memory of the machine.
func TestDiffers(t *testing.T) {
	for _, test := range []struct {
		own, parents     uint64
		differs, emptied bool
	}{
		{present | 7, present | 7, false, false},
		{present | 7, present | 8, true, false},
		{present, present, true, false}, // the numbers are hidden
		{swapped | 7, present | 7, true, false},
		{present | 7, swapped | 7, true, false},
		{0, present | 7, true, true},
		{present | ofFile | 7, present | 7, false, true},
	} {
		if got := differs(test.own, test.parents); got != test.differs {
			t.Errorf("%x differs from %x: %t", test.own, test.parents, got)
		}
		if got := isEmptied(test.own, test.parents); got != test.emptied {
			t.Errorf("%x is emptied: %t", test.own, got)
		}
	}
}

// TestTouched looks for pages at both ends of a region.
func TestTouched(t *testing.T) {
	own := []Region{{0x1000, 0x2000}, {0x5000, 0x7000}}
	for in, want := range map[Region]bool{
		{0, 0x1000}: false, {0, 0x1001}: true, {0x1000, 0x2000}: true, {0x2000, 0x5000}: false,
		{0x2000, 0x5001}: true, {0x6000, 0x9000}: true, {0x7000, 0x9000}: false,
	} {
		if got := Touched(own, in); got != want {
			t.Errorf("%x is touched: %t", in, got)
		}
	}
}
