package nodes

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/agreed"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// stage is which partition is explored now, and what came of those before. Each one is explored as
// if there were no other one: the first is none. Others begin and end when the clock has advanced
// so and so often. What an execution does until the network heals does not depend on when that is.
// So if no execution comes so far, there is no need to try a later time.
type stage struct {
	// Parted is that partition, Links which of Config.Partitions it is.
	Parted *network.Partition
	Links  int
	// Advances is how often the clock advances at most without a partition. In a later epoch there
	// is none to begin.
	Advances int
	// Counts and Traces are those of earlier stages.
	Counts skeleton.Counts
	Traces [][]int
}

// stages explores one partition after the other.
type stages struct{ *explorer }

// explore explores them all, or as much as is wanted.
func (x stages) explore() error {
	for more := true; more; {
		if err := recorder(x).exploreAndTell(); err != nil {
			return err
		}
		if len(x.found) == 0 && x.unknown == "" {
			x.unknown = network.Limits(x.system, x.net)
		}
		advances := x.count()
		more = len(x.system.Work()) == 0 && !x.enough() && x.next(advances)
	}
	x.result.Violations = append(x.told, x.result.Violations...)
	x.unknown += x.config.Agree.Why(x.unknown, agreed.Published(x.net.Data))
	return nil
}

// count adds what the present stage has come to, and says how often the clock advances at most.
// Before the network has healed, an execution is none of its own: it is one with an earlier end.
func (x stages) count() (advances int) {
	s := &x.stage
	counted := map[string]bool{} // items
	for _, of := range x.system.Skeletons() {
		if !of.Possible() {
			continue
		}
		advances = max(advances, network.Advances(of.Global))
		if !x.net.IsWhole(of.Global) {
			continue
		}
		var traces []int
		product := 1.0
		for i, c := range of.Components {
			traces = append(traces, c.Traces)
			if product *= float64(c.Traces); !counted[of.Items[i]] {
				counted[of.Items[i]] = true
				s.Counts.LocalTraces += c.Traces
			}
		}
		s.Traces = append(s.Traces, traces)
		s.Counts.Skeletons, s.Counts.GlobalTraces = s.Counts.Skeletons+1, s.Counts.GlobalTraces+product
	}
	s.Counts.Branches += x.system.Counts().Branches
	return advances
}

// next begins the next stage, and says whether there is one.
func (x stages) next(advances int) bool {
	s := &x.stage
	p := network.Partition{Until: 1}
	switch was := s.Parted; {
	case was == nil:
		s.Advances = advances
	case advances >= was.Until:
		p.From, p.Until = was.From, was.Until+1
	case was.From < s.Advances:
		p.From, p.Until = was.From+1, was.From+2
	default:
		s.Links++
	}
	if s.Links >= len(x.config.Partitions) {
		return false
	}
	p.Links = x.config.Partitions[s.Links]
	s.Parted, x.net.Parted = &p, &p
	x.told, x.result.Violations = append(x.told, x.result.Violations...), nil
	x.found, x.stuck, x.reports = nil, map[string][]*finding{}, nil
	x.net.Ordered = ordered(len(x.config.Nodes))
	x.system = skeleton.New(len(x.config.Nodes))
	return true
}
