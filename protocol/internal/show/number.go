package show

import "fmt"

// Numbers in a line that is rewritten should keep their width, so digits that nobody reads are
// left out.

// Short writes a number with three digits or so.
func Short(n int) string {
	// Bytes are counted in thousands as well.
	units, x := []string{"", "k", "M", "G", "T"}, float64(n)
	for x >= 1000 && len(units) > 1 {
		x /= 1000
		units = units[1:]
	}
	if units[0] == "" || x >= 100 {
		return fmt.Sprintf("%.0f%s", x, units[0])
	}
	return fmt.Sprintf("%.1f%s", x, units[0])
}
