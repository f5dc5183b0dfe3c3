package network

import (
	"strings"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Circle says which nodes listen, and are never connected to. One of them is a server without
// clients. Several may wait for each other.
func Circle(g skeleton.Global, names []string) string {
	var waiting []string
	for c := range g {
		listens := false
		for i := range g[c].Events {
			switch Did(&g[c].Events[i]).Kind {
			case model.Listen:
				listens = true
			case model.Accept:
				listens = false
			}
		}
		if listens {
			waiting = append(waiting, names[c])
		}
	}
	// A server may wait alone: it is not known who else there is to come.
	if len(waiting) < 2 {
		return ""
	}
	last := len(waiting) - 1
	return "nodes " + strings.Join(waiting[:last], ", ") + " and " + waiting[last] +
		" listen, and nobody connects to them: they may wait for each other"
}
