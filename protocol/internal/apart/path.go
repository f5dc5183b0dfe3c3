package apart

import "github.com/tandem-mc/tandem/protocol/internal/system"

// Path is the run to a violation, as far as it is known: by the digests of its states. Whoever goes
// along it asks which of several states is the next one.
type Path struct {
	y       *system.System
	digests *digests
	outcome *Outcome
	at      int
	state   system.State
}

// NewPath begins at the start. Numbers are those of the table of c.
func NewPath(c Config, o *Outcome) *Path {
	return &Path{y: &c.Global.System, digests: newDigests(c.Names, &c.Global.System, nil), outcome: o}
}

// IsNext says whether a state is the next one. Behind the last one it says whether a step fails as
// the violation does. Failure is what fails in the step to the state; empty if nothing does.
func (p *Path) IsNext(packed []byte, failure string) bool {
	if p.at == len(p.outcome.Digests) || failure != "" {
		isSame := failure == p.outcome.Failure || failure != "" && p.outcome.Failure == anyFailure
		return p.at == len(p.outcome.Digests) && isSame
	}
	p.y.Unpack(&p.state, packed)
	digest, err := p.digests.state(&p.state)
	return err == nil && digest == p.outcome.Digests[p.at]
}

// Advance goes on to the next step; false if there is none.
func (p *Path) Advance() bool {
	p.at++
	return p.at < len(p.outcome.Digests) || p.at == len(p.outcome.Digests) && p.outcome.Failure != ""
}
