package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]mapping{
		"7f10-7f30 rw-p 00000000 00:00 0 \n": {from: 0x7f10, length: 0x20,
			protection: unix.PROT_READ | unix.PROT_WRITE},
		"7f10-7f30 r-xs 00001000 fe:01 1234                 /a b\n": {from: 0x7f10, length: 0x20,
			offset: 0x1000, inode: 1234, protection: unix.PROT_READ | unix.PROT_EXEC, shared: true,
			name: "/a b"},
		"7f10-7f30 ---p 00000000 fe:01 1 /two  spaces, and one at the end \n": {
			from: 0x7f10, length: 0x20, inode: 1, name: "/two  spaces, and one at the end "},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n": {
			from: 0xffffffffff600000, length: 0x1000, protection: unix.PROT_EXEC, name: "[vsyscall]"},
	} {
		got, err := parseMapping(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if difference := cmp.Diff(&want, got, cmp.AllowUnexported(mapping{})); difference != "" {
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
