package apart

import (
	"fmt"
	"math"

	"github.com/tandem-mc/tandem/protocol/session"
)

// The front knows which checkpoints there are, and nothing of what is in them. All that is removed
// is removed when it says so, so nobody else has to know what others still need.

// save notes a checkpoint of a part, and forgets all but the last two.
func (f *front) save(c checkpoint) {
	if c.Part < 0 || c.Part >= f.Parts || f.processes[c.Part] != c.Process {
		return // another process has the part now
	}
	list := f.saves[c.Part]
	if n := len(list); n > 0 && list[n-1].Process == c.Process && list[n-1].Number >= c.Number {
		return // it comes twice
	}
	// What was told is not changed, since it may be on its way still.
	f.saves[c.Part], f.isNew = append(list[max(0, len(list)-1):len(list):len(list)], c), true
	f.totals.Saved++
	f.totals.SavedBytes += c.Bytes
	f.totals.Saving += c.Took
}

// keep has what nobody needs any more removed. Each checkpoint that is left was told with a level,
// so another front that goes on finds it there.
func (f *front) keep() error {
	if !f.isNew {
		return nil
	}
	f.isNew = false
	k := session.Kept{Levels: math.MaxUint64}
	for part, list := range f.saves {
		kept := session.KeptPart{Process: f.processes[part], Place: f.places[part]}
		k.Levels = min(k.Levels, kept.Place)
		for i := range list {
			c := &list[i]
			kept.Pieces = append(kept.Pieces, c.Pieces...)
			kept.Heads = append(kept.Heads, session.Pieces{Process: c.Process, From: c.Number,
				To: c.Number + 1})
		}
		k.Parts = append(k.Parts, kept)
	}
	return f.t.Keep(k)
}

// drop forgets a checkpoint that cannot be read, and has another process begin with the one before.
// If there is none, that one begins from nothing, as long as all messages are there.
func (f *front) drop(d damaged) error {
	if d.Part < 0 || d.Part >= f.Parts || f.processes[d.Part] != d.Process {
		return nil
	}
	list := f.saves[d.Part]
	n := len(list) - 1
	if n < 0 || list[n].Process != d.Writer || list[n].Number != d.Number {
		return nil
	}
	if n == 0 && f.places[d.Part] > 0 {
		return fmt.Errorf("the checkpoints of part %d are damaged, and what came before them was removed: "+
			"see that the server keeps what it stores, and begin again (%s)", d.Part, d.Reason)
	}
	// Another front may find it once more, and then does the same.
	f.saves[d.Part] = list[:n:n]
	f.totals.Lost++
	return f.start(d.Part)
}
