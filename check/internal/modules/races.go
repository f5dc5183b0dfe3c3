package modules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// RacesIn says on one line where data races are looked for.
func RacesIn(p *sut.Program) string {
	const room = 100 // for the names of modules
	where := slices.Clone(p.Races)
	for i, pattern := range where {
		if pattern != sut.RacesDirect {
			continue
		}
		where[i] = "main and its direct dependencies"
		if len(p.Direct) == 0 {
			continue
		}
		list := ""
		for j, module := range p.Direct {
			if j > 0 && len(list)+len(module) > room {
				list += fmt.Sprintf(" and %d more", len(p.Direct)-j)
				break
			}
			if j > 0 {
				list += ", "
			}
			list += module
		}
		where[i] += " (" + list + ")"
	}
	return strings.Join(where, ", ")
}
