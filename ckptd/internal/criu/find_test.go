package criu

import "testing"

// TestVersions are compared number by number.
func TestVersions(t *testing.T) {
	for version, old := range map[string]bool{
		"4.2": false, "4.2.1": false, "4.10": false, "5": false, "5.0": false,
		"4.1.1": true, "4": true, "3.99": true, "": true, "x": true, "4.x": true,
	} {
		if isOlder(version, "4.2") != old {
			t.Errorf("%q older than 4.2: %t, want %t", version, !old, old)
		}
	}
}
