package check

import (
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/saved"
)

// PeerCounts says how much work with the peers was done.
type PeerCounts = driver.Counts

// Counts says how much work was done beside the search itself.
type Counts = saved.Counts
