package explore

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/random"
	"github.com/tandem-mc/tandem/internal/model"
)

// What a search has found out.
type (
	Verdict     = core.Verdict
	VerdictKind = model.Verdict
	Estimate    = core.Estimate
	Guarantee   = core.Guarantee
	Phases      = core.Phases
	Phase       = core.Phase
	Subtree     = core.Subtree
	Size        = core.Size
)

// The verdicts.
const (
	Unknown  = core.Unknown
	Holds    = core.Holds
	Violated = core.Violated
)

// The phases of Auto.
const (
	Systematic = core.Systematic
	Aimed      = core.Aimed
	Sampled    = core.Sampled
)

// MaxDepth is the greatest depth of a search by PCT.
const MaxDepth = random.MaxDepth
