package narrate

import (
	"fmt"
	"maps"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/cachetree"
)

// CacheTree tells a snapshot of the I/O cache. Each place of it has an exchange. A message is told
// in the words of a counterexample. Connections have the numbers that they have in their own tree.
func CacheTree(s *iocache.Snapshot, exchanges []driver.Exchange) *report.CacheTree {
	tree := &report.CacheTree{LeftOut: s.LeftOut}
	// What is opened differs from branch to branch, and most inputs open nothing.
	opened := make([]networks, len(s.Places))
	messages := make([][]report.Message, len(s.Places))
	for i, p := range s.Places {
		tree.Places = append(tree.Places, report.CachePlace{
			Parent: p.Parent, Input: p.Given + 1, Hits: p.Hits, Checkpoint: p.Image, Restores: p.Restores,
			Starts: p.Starts,
		})
		// A map that did not change is shared: nobody adds to it.
		x := exchanges[i]
		switch opened[i] = (networks{}); {
		case p.Parent >= 0 && (x.Input.Opens() || len(x.Answer.Opened) > 0):
			opened[i] = maps.Clone(opened[p.Parent])
		case p.Parent >= 0:
			opened[i] = opened[p.Parent]
		}
		// Some places are where no input led: those have words of their own.
		switch {
		case p.Parent < 0:
			messages[i] = []report.Message{{About: "peers", ToPeer: true, Event: "start"}}
		case x.Input.Kind == model.Choose:
			way := fmt.Sprintf("behave in way %d", x.Input.Conn+1)
			messages[i] = []report.Message{{About: "peers", ToPeer: true, Event: way}}
		case x.Input.Kind == 0:
			messages[i] = []report.Message{{ToPeer: true, Event: "of one connection"}}
		default:
			messages[i] = opened[i].messages(x)
		}
	}
	cachetree.Describe(tree, messages)
	return tree
}
