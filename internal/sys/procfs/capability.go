package procfs

import (
	"fmt"
	"strconv"
	"strings"
)

// HasCapability tells whether this process has a capability, and so what it executes as root.
func HasCapability(number int) (bool, error) {
	set, err := EffectiveCapabilities()
	return set>>number&1 == 1, err
}

// EffectiveCapabilities are those that this process has now, a bit for each: capabilities(7).
func EffectiveCapabilities() (uint64, error) {
	text, err := Read("/proc/self/status")
	if err != nil {
		return 0, err
	}
	set, err := strconv.ParseUint(strings.TrimSpace(Status(text).Field("CapEff:")), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("capabilities in /proc/self/status: %w", err)
	}
	return set, nil
}
