package procfs

import (
	"maps"
	"runtime"
	"testing"
	"time"
)

func TestIdle(t *testing.T) {
	first, err := Idle()
	if err != nil {
		t.Fatal(err)
	}
	if len(first) < runtime.NumCPU() {
		t.Errorf("%d processors, of at least %d", len(first), runtime.NumCPU())
	}
	second, err := Idle()
	if err != nil {
		t.Fatal(err)
	}
	for cpu, idle := range first {
		// What waits for a disk may be counted down: the kernel says so in proc(5).
		if second[cpu] < idle-time.Second {
			t.Errorf("processor %d: %v, then %v", cpu, idle, second[cpu])
		}
	}
}

func TestParseIdle(t *testing.T) {
	got, err := parseIdle([]byte("cpu  9 9 9 9 9 9\ncpu0 1 2 3 400 50 6 7 8 9 10\n" +
		"cpu11 1 2 3 4 0 6\nintr 1 2\n"))
	want := map[int]time.Duration{0: 4500 * time.Millisecond, 11: 40 * time.Millisecond}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"cpu0 1 2 3 4\n", "cpu0 1 2 3 x 5\n", "cpux 1 2 3 4 5\n", "cpu", "cpu\n"} {
		if got, err := parseIdle([]byte(bad)); err == nil && len(got) > 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
