package told

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/report"
)

// TestAdvance: of advances of the clock with nothing in between, the last one is told.
func TestAdvance(t *testing.T) {
	list := advance(nil, time.Second)
	list = advance(list, 2*time.Second)
	list = append(list, report.NodeStep{Node: "a", What: "sends"})
	list = advance(list, 2500*time.Millisecond)
	var got []string
	for _, s := range list {
		got = append(got, s.What)
	}
	if want := []string{"the time is 2 s", "sends", "the time is 2.5 s"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

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
