package mappings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]Mapping{
		"7f10-7f30 rw-p 00000000 00:00 0 \n": {From: 0x7f10, Length: 0x20,
			Protection: unix.PROT_READ | unix.PROT_WRITE},
		"7f10-7f30 r-xs 00001000 fe:01 1234                 /a b\n": {From: 0x7f10, Length: 0x20,
			offset: 0x1000, Inode: 1234, Protection: unix.PROT_READ | unix.PROT_EXEC, Shared: true,
			Name: "/a b"},
		"7f10-7f30 ---p 00000000 fe:01 1 /two  spaces, and one at the end \n": {
			From: 0x7f10, Length: 0x20, Inode: 1, Name: "/two  spaces, and one at the end "},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n": {
			From: 0xffffffffff600000, Length: 0x1000, Protection: unix.PROT_EXEC, Name: "[vsyscall]"},
	} {
		got, err := Parse(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if difference := cmp.Diff(&want, got, cmp.AllowUnexported(Mapping{})); difference != "" {
			t.Errorf("%q: %s", line, difference)
		}
	}
	for _, line := range []string{"", "\n", "7f10", "7f10-7f30", "7f10-7f30 rw-p", "7f10-7f30 rw-p 0 00:00",
		"7f10-x rw-p 0 00:00 0 /a", "7f10-7f30 rw- 0 00:00 0 /a"} {
		if m, err := Parse(line); err == nil {
			t.Errorf("%q is taken for %v", line, m)
		}
	}
}

// mapping parses a line of the test, and gives the mapping flags.
func mapping(t *testing.T, line string, flags ...string) *Mapping {
	t.Helper()
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	m.Flags = flags
	return m
}

// TestKinds knows by the name to whom a mapping belongs.
func TestKinds(t *testing.T) {
	for name, want := range map[string][3]bool{ // of the group, of the proxy, of the kernel
		"":                {},
		"[heap]":          {},
		"/lib/libc.so":    {},
		"[vdso]":          {2: true},
		"[vvar_vclock]":   {2: true},
		paths.Run + "/db": {0: true},
		paths.Run + "/" + paths.ProxyDirectory + "/ring": {1: true},
		paths.Run + "er": {},
	} {
		m := &Mapping{Name: name}
		if got := [3]bool{m.InGroup(), m.IsProxys(), m.IsKernels()}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// TestSameAs leaves out only the flag that changes as memory is written.
func TestSameAs(t *testing.T) {
	const line = "1000-2000 rw-p 00000000 00:00 0 "
	m := mapping(t, line, "rd", "wr")
	for other, want := range map[*Mapping]bool{
		mapping(t, line, "rd", "wr"):                                     true,
		mapping(t, line, "rd", "sd", "wr"):                               true,
		mapping(t, line, "rd", "wr", "mg"):                               false,
		mapping(t, "1000-3000 rw-p 00000000 00:00 0 ", "rd", "wr"):       false,
		mapping(t, "1000-2000 r--p 00000000 00:00 0 ", "rd", "wr"):       false,
		mapping(t, "1000-2000 rw-s 00000000 00:00 0 ", "rd", "wr"):       false,
		mapping(t, "1000-2000 rw-p 00000000 00:00 0 [heap]", "rd", "wr"): false,
	} {
		if got := m.SameAs(other); got != want {
			t.Errorf("%+v is the same: %t", other, got)
		}
	}
}

// TestRenewable takes memory that was written to, and whose flags a new mapping can have.
func TestRenewable(t *testing.T) {
	for name, test := range map[string]struct {
		m    Mapping
		want bool
	}{
		"memory":        {Mapping{Touched: true, Flags: []string{"rd", "wr", "hg"}}, true},
		"untouched":     {Mapping{Flags: []string{"rd"}}, false},
		"shared":        {Mapping{Touched: true, Shared: true}, false},
		"strange flag":  {Mapping{Touched: true, Flags: []string{"rd", "lo"}}, false},
		"a file's":      {Mapping{Touched: true, Inode: 7, Name: "/lib/libc.so"}, true},
		"given a name":  {Mapping{Touched: true, Name: "[anon:arena]"}, true},
		"of the kernel": {Mapping{Touched: true, Name: "[vvar]"}, false},
		"unknown":       {Mapping{Touched: true, Name: "[uprobes]"}, false},
	} {
		if got := test.m.Renewable(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMergeable joins neighbours of one kind, of which [heap] is none.
func TestMergeable(t *testing.T) {
	all := []*Mapping{
		mapping(t, "1000-2000 rw-p 00000000 00:00 0 [heap]"),
		mapping(t, "2000-3000 rw-p 00000000 00:00 0 "),
		mapping(t, "3000-4000 r--p 00000000 00:00 0 "),
		mapping(t, "5000-6000 r--p 00000000 00:00 0 "),
		mapping(t, "6000-7000 r--p 00000000 00:00 0 [anon:arena]"),
		mapping(t, "7000-8000 r--p 00001000 fe:01 9 /file"),
		mapping(t, "8000-9000 r--p 00002000 fe:01 9 /file"),
		mapping(t, "9000-a000 r--p 00002000 fe:01 9 /file"),
	}
	for n, want := range []bool{false, true, false, false, false, false, true, false, false} {
		if got := Mergeable(all, n); got != want {
			t.Errorf("%d and the one before: %t", n, got)
		}
	}
}

// TestWithoutRenewed keeps inodes of files that do not change with the group.
func TestWithoutRenewed(t *testing.T) {
	const library = "1000-2000 r--p 00001000 fe:01 9 /lib/libc.so\n"
	got := WithoutRenewed(library + "2000-3000 rw-s 00000000 fe:01 77    " + paths.Run + "/db\n")
	if want := library + "2000-3000 rw-s 00000000 " + paths.Run + "/db\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMapAnew has calls for what a mapping has, and none for the rest.
func TestMapAnew(t *testing.T) {
	for name, test := range map[string]struct {
		m     *Mapping
		calls int
	}{
		"plain":         {mapping(t, "1000-2000 rw-p 00000000 00:00 0 ", "rd", "wr", "ac"), 1},
		"once writable": {mapping(t, "1000-2000 r--p 00000000 00:00 0 ", "rd", "ac"), 2},
		"advised":       {mapping(t, "1000-2000 rw-p 00000000 00:00 0 ", "hg", "dd"), 3},
		"named":         {mapping(t, "1000-2000 rw-p 00000000 00:00 0 [anon:arena]"), 2},
	} {
		b := tracer.NewProgram(1 << 20).Batch()
		MapAnew(b, Remap{Mapping: test.m}, 0)
		if got := b.Add("the next call", unix.SYS_GETPID); got != test.calls {
			t.Errorf("%s: %d calls", name, got)
		}
	}
}
