package told

import (
	"strings"
	"testing"
)

// TestShown: data that are long are cut, by the columns that they take.
func TestShown(t *testing.T) {
	for data, want := range map[string]string{
		"":                              `""`,
		"GET /page":                     `"GET /page"`,
		strings.Repeat("x", 40):         `"` + strings.Repeat("x", 40) + `"`,
		strings.Repeat("x", 41):         `"` + strings.Repeat("x", 40) + `"... (41 bytes)`,
		strings.Repeat("\x00", 2000):    `"` + strings.Repeat(`\x00`, 10) + `"... (2,000 bytes)`,
		strings.Repeat("\x00", 9) + "é": `"` + strings.Repeat(`\x00`, 9) + `é"`,
	} {
		if got := shown([]byte(data)); got != want {
			t.Errorf("%q is shown as %s, want %s", data, got, want)
		}
	}
}
