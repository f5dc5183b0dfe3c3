package core

import "fmt"

// Phase is a part of a search that is a portfolio.
type Phase uint8

const (
	Systematic Phase = iota // DPOR, or another search that comes to an end
	Aimed                   // schedules that lead to where something might go wrong
	Sampled                 // schedules that are drawn at random
	phases
)

var phaseNames = [phases]string{Systematic: "systematic", Aimed: "aimed", Sampled: "sampled"}

func (p Phase) String() string {
	if p >= phases {
		return fmt.Sprintf("phase %d", uint8(p))
	}
	return phaseNames[p]
}

// Phases says what the parts of a portfolio have done.
type Phases struct {
	Systematic, Aimed, Sampled int // executions
	CutOff                     int // of the systematic ones: StepLimit
	Found                      Phase
	At                         int // the execution that was the first violation; 0: there was none
}

// Note notes an execution of a phase.
func (p *Phases) Note(by Phase, violation bool) {
	switch by {
	case Aimed:
		p.Aimed++
	case Sampled:
		p.Sampled++
	default:
		p.Systematic++
	}
	if violation && p.At == 0 {
		p.At, p.Found = p.All(), by
	}
}

// All is the number of executions.
func (p Phases) All() int { return p.Systematic + p.Aimed + p.Sampled }

// Aside is the number of those that are not systematic.
func (p Phases) Aside() int { return p.Aimed + p.Sampled }
