package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// TestPublishedCounts compares the number of executions with those that
// optimal DPOR needs (POPL 2014, section 9): 2^n for readers(n), (n+3) 2^(n-2) for
// lastzero(n).
func TestPublishedCounts(t *testing.T) {
	for _, test := range []struct {
		program string
		want    int
	}{
		{readers(2), 4},
		{readers(8), 256},
		{lastZero(3), 12},
		{lastZero(5), 64},
		{lastZero(8), 704},
	} {
		name, text, _ := strings.Cut(test.program, "\n")
		t.Run(name, func(t *testing.T) {
			f := testkit.MustSearch(t, dporSearch(), text)
			if f.Verdict.Executions != test.want || len(f.Fingerprints) != test.want {
				t.Errorf("%d executions of %d partial orders, want %d of "+
					"each", f.Verdict.Executions, len(f.Fingerprints), test.want)
			}
		})
	}
}

// readers: one writer and n readers of a variable.
func readers(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "readers(%d)\nmain: ", n)
	for range n {
		b.WriteString("go r; ")
	}
	b.WriteString("store x 42\nr: load r0 x\n")
	return b.String()
}

// lastZero: goroutine i of n sets a[i] = a[i-1] + 1, while main looks for the last
// element that is zero.
func lastZero(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lastzero(%d)\nmain: ", n)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "go g%d; ", i)
	}
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "load r0 a%d; skip r0 0 100; ", i)
	}
	b.WriteString("load r0 a0\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "g%d: load r1 a%d; inc a%d r1\n", i, i-1, i)
	}
	return b.String()
}
