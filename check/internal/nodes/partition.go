package nodes

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
)

// stages explores one partition after the other.
type stages struct{ *explorer }

// explore explores them all, or as much as is wanted.
func (x stages) explore() error {
	for more := true; more; {
		if err := recorder(x).exploreAndTell(); err != nil {
			return err
		}
		if len(x.found) == 0 && x.unknown == "" {
			x.result.Doubt = network.Limits(x.system, x.net)
			x.unknown = x.result.Doubt
		}
		var advances int
		s := &x.stage
		s.Counts, s.Traces, advances = network.Count(x.system, x.net, s.Counts, s.Traces)
		more = len(x.system.Work()) == 0 && !x.enough() && x.next(advances)
	}
	x.result.Whole = len(x.system.Work()) == 0
	x.result.Violations = append(x.told, x.result.Violations...)
	x.unknown += x.config.Properties.Why(x.unknown, published.In(x.net.Data))
	return nil
}

// next begins the next stage, and says whether there is one.
func (x stages) next(advances int) bool {
	p := x.stage.Next(advances, x.config.Partitions, x.config.MostPartitions())
	if p == nil {
		return false
	}
	x.net.Parted = p
	x.told, x.result.Violations = append(x.told, x.result.Violations...), nil
	x.found, x.stuck, x.reports = nil, map[string][]*finding{}, nil
	x.net.Ordered = ordered(len(x.net.Names))
	x.system = x.config.System(len(x.net.Names))
	return true
}
