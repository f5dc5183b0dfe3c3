package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestManyMissed: addresses that are not named are counted.
func TestManyMissed(t *testing.T) {
	for more, want := range map[int]string{1: "and 1 address more", 2: "and 2 addresses more"} {
		var m report.Missed
		for i := range maxMissed + more {
			m.Dialled = append(m.Dialled, report.Dial{Address: fmt.Sprintf("127.0.0.1:%d", i+1)})
		}
		if text := Missed(m); !strings.Contains(text, "  "+want+"\n") {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
