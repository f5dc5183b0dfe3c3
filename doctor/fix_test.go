package doctor

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/scripts"
)

// TestSetupKnowsTheProfiles: what a profile says of its package is what the script installs.
func TestSetupKnowsTheProfiles(t *testing.T) {
	script, err := scripts.Files.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range peers.Profiles() {
		if p.Package != "" && !strings.Contains(string(script), "\n"+p.Package+" "+p.Program+"\n") {
			t.Errorf("profile %s: setup.sh does not install %s for %s", p.Name, p.Package, p.Program)
		}
	}
}
