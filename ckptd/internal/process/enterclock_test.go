package process

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// TestMayEnterClock: who cannot enter another time namespace is found before it is tried.
func TestMayEnterClock(t *testing.T) {
	lines := func(capabilities, filters, threads string) procfs.Status {
		mode := "2"
		if filters == "0" {
			mode = "0"
		}
		return procfs.Status("Threads:\t" + threads + "\nCapEff:\t" + capabilities + "\nSeccomp:\t" + mode +
			"\nSeccomp_filters:\t" + filters + "\n")
	}
	const all, none = "000001ffffffffff", "0000000000000000"
	for _, test := range []struct {
		status procfs.Status
		want   string
	}{
		{lines(all, "0", "1"), ""},
		{lines(all, strconv.Itoa(proxy.Filters), "1"), ""}, // the group's own
		{lines(all, strconv.Itoa(proxy.Filters+1), "1"), "filtered"},
		{lines(none, "0", "1"), "CAP_SYS_ADMIN"},
		{lines(all, "0", "3"), "3 threads"},
	} {
		err := MayEnterClock(7, test.status)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.status, err, test.want)
		}
	}
}
