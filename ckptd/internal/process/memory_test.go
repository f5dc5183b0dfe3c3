package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
)

// smaps is what the kernel tells of a process with three mappings, shortened.
const smaps = `5000-7000 rw-p 00000000 00:00 0                          [heap]
Size:                  8 kB
Private_Dirty:         4 kB
Anonymous:             4 kB
VmFlags: rd wr mr mw me ac sd 
7f00-9f00 r--p 00000000 fe:01 7                          /lib/x
Private_Dirty:         0 kB
Private_Hugetlb:       2 kB
Anonymous:             0 kB
VmFlags: rd mr mw me 
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
VmFlags: ex 
`

// TestParseFlags reads what there is about each mapping.
func TestParseFlags(t *testing.T) {
	var a AddressSpace
	if err := a.parseFlags([]byte(smaps)); err != nil {
		t.Fatal(err)
	}
	if len(a.mappings) != 3 || a.Private != 6<<10 || strings.Count(a.maps, "\n") != 3 {
		t.Fatalf("%d mappings, %d bytes of its own:\n%s", len(a.mappings), a.Private, a.maps)
	}
	heap, library := a.mappings[0], a.mappings[1]
	if !heap.Touched || library.Touched || strings.Join(library.Flags, " ") != "rd mr mw me" {
		t.Errorf("%+v\n%+v", heap, library)
	}
	for _, text := range []string{"VmFlags: rd\n", "7f00-x r--p 0 00:00 0\n"} {
		if err := new(AddressSpace).parseFlags([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParseFlags(f *testing.F) {
	f.Add([]byte(smaps))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a AddressSpace
		if a.parseFlags(text) == nil && strings.Count(a.maps, "\n") > len(a.mappings) {
			t.Errorf("%d mappings of %q", len(a.mappings), a.maps)
		}
	})
}

// TestAdmit: memory that a fork does not carry over is refused, with the reason. What has no name
// is noted.
func TestAdmit(t *testing.T) {
	for name, test := range map[string]struct {
		line    string
		flags   string
		want    string // in the refusal; "": none
		unnamed bool
	}{
		"memory":           {"1000-2000 rw-p 0 00:00 0 ", "rd wr", "", false},
		"a library":        {"1000-2000 r-xs 0 fe:01 7 /lib/x", "rd", "", false},
		"of the kernel":    {"1000-2000 r-xp 0 00:00 0 [vdso]", "rd io", "", false},
		"of the proxy":     {"1000-2000 rw-s 0 00:01 7 " + paths.CountersInGroup, "rd", "", false},
		"of the group":     {"1000-2000 rw-s 0 00:01 7 /run/tandem/db", "rd sh", "", false},
		"without a name":   {"1000-2000 rw-s 0 00:01 7 /dev/zero (deleted)", "rd sh", "", true},
		"shared":           {"1000-2000 rw-s 0 fe:01 7 /var/x", "", "shared memory at 0x1000 /var/x", false},
		"a device's":       {"1000-2000 r--p 0 fe:01 7 /dev/mem", "", "device, /dev/mem", false},
		"not inherited":    {"1000-2000 rw-p 0 00:00 0 ", "rd dc", "is not inherited by a fork", false},
		"locked":           {"1000-2000 rw-p 0 00:00 0 ", "lo", "is locked", false},
		"too much is gone": {"1000-2000000 rw-p 0 00:00 0 ", "wf", "are wiped by a fork", false},
	} {
		m, err := mappings.Parse(test.line)
		if err != nil {
			t.Fatal(err)
		}
		m.Flags = strings.Fields(test.flags)
		var a AddressSpace
		err = a.admit(7, m)
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.Is(err, incarnation.ErrRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if got := len(a.Unnamed) > 0; got != test.unnamed {
			t.Errorf("%s is held: %t", name, got)
		}
	}
}

// TestWhatIsRemapped: files of the group always may be, and all else at the end of a long line of
// forks, but for neighbours that the kernel would make one.
func TestWhatIsRemapped(t *testing.T) {
	var all []*mappings.Mapping
	for _, line := range []string{"1000-2000 rw-p 0 00:00 0 ", "3000-4000 rw-p 0 00:00 0 ",
		"4000-5000 rw-p 0 00:00 0 ", "6000-7000 r--p 0 fe:01 7 /run/tandem/x",
		"8000-9000 r--p 0 fe:01 8 /lib/y"} {
		m, err := mappings.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m.Touched = true
		all = append(all, m)
	}
	for generation, want := range map[int][]uint64{0: {0x6000}, MaxGeneration - 1: {0x6000},
		MaxGeneration: {0x1000, 0x6000, 0x8000}} {
		a := AddressSpace{Generation: generation, mappings: all}
		var got []uint64
		for _, m := range a.mayRemap() {
			got = append(got, m.From)
			if m.FromFile != (m.Inode != 0) {
				t.Errorf("%#x is mapped from a file: %t", m.From, m.FromFile)
			}
		}
		if len(got) != len(want) || len(got) > 0 && got[len(got)-1] != want[len(want)-1] {
			t.Errorf("of generation %d %#x are mapped anew, want %#x", generation, got, want)
		}
	}
}
