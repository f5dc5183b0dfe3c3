package memory

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
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
		var want []region
		for n := range pages {
			address := from + uint64(n*size)
			switch random.IntN(3) {
			case 0:
				memory[n*size] = 1
				want = appendRegion(want, region{address, address + uint64(size)})
			case 1: // the empty page that all processes share
				_ = memory[n*size]
			}
		}
		all, err := ownPages(os.Getpid(), 0)
		if errors.Is(err, errNoScan) {
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
			bytes += r.to - r.from
		}
		if total, err = exclusiveBytes(os.Getpid(), want); err != nil || total != int64(bytes) {
			t.Fatalf("%d bytes are the process's alone, want %d: %v", total, bytes, err)
		}
		m := &mapping{from: from, length: end - from}
		if m.touches(all) != (len(want) > 0) || m.touches(nil) {
			t.Fatalf("the mapping is touched: %t, its pages: %x", m.touches(all), want)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Fatal(err)
		}
	}
}

// within are the parts of regions that lie between two addresses.
func within(all []region, from, end uint64) (part []region) {
	for _, r := range all {
		part = appendRegion(part, region{max(r.from, from), min(r.to, end)})
	}
	return part
}

// TestOwnPagesWithoutThoseOfCalls leaves out the mapping for calls, also where others touch it.
func TestOwnPagesWithoutThoseOfCalls(t *testing.T) {
	size := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, tracer.InjectionSize+2*size, unix.PROT_READ|unix.PROT_WRITE,
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
	all, err := ownPages(os.Getpid(), injected)
	if errors.Is(err, errNoScan) {
		t.Skip(err)
	}
	want := []region{{from, injected}, {end - uint64(size), end}}
	if got := within(all, from, end); err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, want %x: %v", got, want, err)
	}
}
