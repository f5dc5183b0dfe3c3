package doctor

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/peers"
)

func TestPackagesOf(t *testing.T) {
	got := packagesOf([]peers.Profile{{Name: "a", Package: "one"}, {Name: "b"}, {Name: "c", Package: "two"}})
	if !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

// TestScriptsRun: the scripts are unpacked and run, what they say is shown, and nothing is left.
func TestScriptsRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PATH", "/nowhere") // there is no program that could install anything
	var out bytes.Buffer
	err := runScripts(t.Context(), nil, &out)
	if err == nil {
		t.Errorf("it was set up without a program: %s", &out)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestStateIsOneLine(t *testing.T) {
	for _, p := range Profiles() {
		if p.State == "" || strings.Contains(p.State, "\n") {
			t.Errorf("%s: %q", p.Name, p.State)
		}
	}
}
