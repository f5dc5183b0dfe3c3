package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]Mapping{
		"7f10-7f30 rw-p 00000000 00:00 0 \n": {From: 0x7f10, length: 0x20,
			protection: unix.PROT_READ | unix.PROT_WRITE},
		"7f10-7f30 r-xs 00001000 fe:01 1234                 /a b\n": {From: 0x7f10, length: 0x20,
			offset: 0x1000, Inode: 1234, protection: unix.PROT_READ | unix.PROT_EXEC, shared: true,
			Name: "/a b"},
		"7f10-7f30 ---p 00000000 fe:01 1 /two  spaces, and one at the end \n": {
			From: 0x7f10, length: 0x20, Inode: 1, Name: "/two  spaces, and one at the end "},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n": {
			From: 0xffffffffff600000, length: 0x1000, protection: unix.PROT_EXEC, Name: "[vsyscall]"},
	} {
		got, err := parseMapping(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if difference := cmp.Diff(&want, got, cmp.AllowUnexported(Mapping{})); difference != "" {
			t.Errorf("%q: %s", line, difference)
		}
	}
	for _, line := range []string{"", "\n", "7f10", "7f10-7f30", "7f10-7f30 rw-p", "7f10-7f30 rw-p 0 00:00",
		"7f10-x rw-p 0 00:00 0 /a", "7f10-7f30 rw- 0 00:00 0 /a"} {
		if m, err := parseMapping(line); err == nil {
			t.Errorf("%q is taken for %v", line, m)
		}
	}
}
