package raft

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
	"go.etcd.io/raft/v3"
)

// properties are those of Ongaro and Ousterhout, "In Search of an Understandable Consensus
// Algorithm" (USENIX ATC 2014), figure 3. What holds at all times is stated of
// what nodes remember: the terms that they have led, and what they have applied.
func properties() []protocol.Property {
	return []protocol.Property{
		protocol.Always("election safety", led, electionSafety),
		protocol.Always("log matching", logOf, eachTwo(logsMatch)),
		protocol.Always("leader completeness", standing, leaderCompleteness),
		protocol.Always("state machine safety", applied, eachTwo(isPrefix)),
		protocol.Sometimes("a leader is elected", led, func(terms [][]uint64) bool {
			return slices.ContainsFunc(terms, func(t []uint64) bool { return len(t) > 0 })
		}),
		protocol.Sometimes("an entry is committed on all", applied, func(lists [][]Entry) bool {
			return !slices.ContainsFunc(lists, func(list []Entry) bool { return len(list) == 0 })
		}),
	}
}

func led(_ protocol.ID, node protocol.Node) []uint64 { return node.(*Node).Led }

func logOf(_ protocol.ID, node protocol.Node) []Entry { return node.(*Node).Disk.Log }

func applied(_ protocol.ID, node protocol.Node) []Entry { return node.(*Node).Applied }

// electionSafety: a term has one leader at most.
func electionSafety(terms [][]uint64) bool {
	seen := map[uint64]bool{}
	for _, term := range slices.Concat(terms...) {
		if seen[term] {
			return false
		}
		seen[term] = true
	}
	return true
}

// eachTwo wants something of each pair of nodes, in both orders.
func eachTwo[V any](holds func(a, b V) bool) func(views []V) bool {
	return func(views []V) bool {
		for i, a := range views {
			for j, b := range views {
				if i != j && !holds(a, b) {
					return false
				}
			}
		}
		return true
	}
}

// logsMatch: if two logs have an entry with the same index and term, they are equal up to it.
func logsMatch(a, b []Entry) bool {
	for i := min(len(a), len(b)) - 1; i >= 0; i-- {
		if a[i].Term == b[i].Term {
			return slices.Equal(a[:i+1], b[:i+1])
		}
	}
	return true
}

// isPrefix: one of two lists begins with the other, so no index has two entries.
func isPrefix(a, b []Entry) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// stand is what leader completeness depends on.
type stand struct {
	IsLeader  bool
	Term      uint64
	Log       []Entry
	Committed int // entries of Log
}

func standing(_ protocol.ID, node protocol.Node) stand {
	n := node.(*Node)
	// With bug LateEntries a crash may leave a shorter log.
	s := stand{Term: n.Disk.Hard.Term, Log: n.Disk.Log}
	s.Committed = min(int(n.Disk.Hard.Commit)-1, len(s.Log))
	if n.Raft != nil {
		s.IsLeader = n.Raft.BasicStatus().RaftState == raft.StateLeader
	}
	return s
}

// leaderCompleteness: what a node knows as committed is in the log of each leader of its term or a
// later one. The term of a leader is on its disk.
func leaderCompleteness(nodes []stand) bool {
	for _, leader := range nodes {
		for _, n := range nodes {
			if !leader.IsLeader || n.Term > leader.Term || n.Committed == 0 {
				continue
			}
			committed := n.Log[:n.Committed]
			if len(leader.Log) < n.Committed || !slices.Equal(leader.Log[:n.Committed], committed) {
				return false
			}
		}
	}
	return true
}
