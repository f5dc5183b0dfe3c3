package lint

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestFuzzTargets: make fuzz runs every fuzz target of the tree, and bounds each of them.
func TestFuzzTargets(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^fuzz:.*\n\t\$\(GO\) run \./scripts/fuzz -time [^-]+$`).Match(makefile) {
		t.Error("make fuzz does not run ./scripts/fuzz with a bound, and with all targets")
	}
	command := exec.Command("go", "run", "./scripts/fuzz", "-list")
	command.Dir = ".."
	found, err := command.Output()
	if err != nil {
		t.Fatalf("scripts/fuzz: %v", err)
	}
	runs := map[string]bool{}
	for line := range strings.Lines(string(found)) {
		runs[strings.TrimSpace(line)] = true
	}
	declared := 0
	function := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	files(t, func(name string, data []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, match := range function.FindAllSubmatch(data, -1) {
			declared++
			if target := path.Dir(name) + " " + string(match[1]); !runs[target] {
				t.Errorf("%s: make fuzz does not run %s", name, match[1])
			}
		}
	})
	if declared != len(runs) || declared == 0 {
		t.Errorf("there are %d fuzz targets, and make fuzz runs %d", declared, len(runs))
	}
}
