// Package raft has go.etcd.io/raft/v3 checked as it is. A node is a RawNode, with what it has on
// its disk and what the application has done; all else is a page that joins them with package
// protocol.
package raft

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/tandem-mc/tandem/protocol"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Node is a node of a cluster. Nodes of raft are numbered from 1, and those of protocol from 0.
type Node struct {
	Raft *raft.RawNode // nil while the node is down
	Disk *Disk
	Left Budget
	Bug  Bug
	// MaxSize bounds the entries in a message, in bytes, of which one is always sent. MaxApply
	// bounds those that are applied together. If that is 0, raft takes MaxSize.
	MaxSize, MaxApply uint64
	// Applied and Led are for the properties, and survive a crash: what the application was given,
	// from the second entry on, and the terms in which the node was a leader.
	Applied []Entry
	Led     []uint64
	// applied is how many entries have been applied since the node was started.
	applied int
	synced  *Disk // what a crash leaves; nil: all of Disk
}

// Budget is what may still happen at a node by itself or by the application. Without a bound the
// terms and logs have none.
type Budget struct {
	Elections  int // times at which the leader seems to be gone
	Heartbeats int
	Proposals  int
	Removals   int // of the last node, by a change of the configuration
	Returns    int // of that node
}

// Bug is one that the application around raft may have.
type Bug uint8

// The bugs.
const (
	NoBug Bug = iota
	// ForgetVote: the vote is not written to the disk.
	ForgetVote
	// LateEntries: entries are acknowledged before they are on the disk, where they are at the next
	// event.
	LateEntries
)

// Call is what a node does by itself or for the application.
type Call string

// The calls.
const (
	Campaign  Call = "campaign"
	Heartbeat Call = "heartbeat"
	Propose   Call = "propose"
	Remove    Call = "remove the last node"
	Return    Call = "add it again"
)

// logger discards what raft says, and panics where raft does. It is the same for all nodes.
var logger = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

// Start starts the node from its disk, the first time and after a crash.
func (n *Node) Start(env *protocol.Env) {
	var err error
	n.applied = 0
	// Ticks are never given, so the time-outs do not matter. Elections may begin at any time.
	n.Raft, err = raft.NewRawNode(&raft.Config{
		ID: uint64(env.ID()) + 1, ElectionTick: 2, HeartbeatTick: 1, Storage: n.Disk, Logger: logger,
		MaxSizePerMsg: n.MaxSize, MaxCommittedSizePerReady: n.MaxApply, MaxInflightMsgs: 16,
	})
	env.Assert(err == nil, err)
	n.ready(env)
}

// Crash loses what is not on the disk.
func (n *Node) Crash() {
	n.Raft = nil
	if n.synced != nil {
		n.Disk, n.synced = n.synced, nil
	}
}

// Receive has raft handle a message.
func (n *Node) Receive(env *protocol.Env, from protocol.ID, message any) {
	n.sync()
	err := n.Raft.Step(message.(Message).toRaft(from, env.ID()))
	env.Assert(err == nil || errors.Is(err, raft.ErrStepPeerNotFound), err)
	n.ready(env)
}

// Actions lists what the budget allows.
func (n *Node) Actions() (list []any) {
	isLeader := n.Raft.BasicStatus().RaftState == raft.StateLeader
	add := func(call Call, possible bool, left int) {
		if possible && left > 0 {
			list = append(list, call)
		}
	}
	add(Campaign, !isLeader, n.Left.Elections)
	add(Heartbeat, isLeader, n.Left.Heartbeats)
	add(Propose, isLeader, n.Left.Proposals)
	add(Remove, isLeader, n.Left.Removals)
	add(Return, isLeader, n.Left.Returns)
	return list
}

// Act does what was listed. Proposals that raft does not take are lost, as in any application.
func (n *Node) Act(env *protocol.Env, action any) {
	n.sync()
	last := uint64(env.Nodes())
	switch action.(Call) {
	case Campaign:
		n.Left.Elections--
		env.Assert(n.Raft.Campaign() == nil, "a campaign is refused")
	case Heartbeat:
		n.Left.Heartbeats--
		n.Raft.Tick()
	case Propose:
		n.Left.Proposals--
		_ = n.Raft.Propose([]byte{'a' + byte(env.ID())})
	case Remove:
		n.Left.Removals--
		_ = n.Raft.ProposeConfChange(change(raftpb.ConfChangeRemoveNode, last))
	case Return:
		n.Left.Returns--
		_ = n.Raft.ProposeConfChange(change(raftpb.ConfChangeAddNode, last))
	}
	n.ready(env)
}

// change is a change of the configuration.
func change(kind raftpb.ConfChangeType, node uint64) *raftpb.ConfChange {
	return &raftpb.ConfChange{Type: kind.Enum(), NodeId: &node}
}

// ready does what raft asks for, in the order that its documentation wants: write to the disk,
// send, apply, and say that it is done.
func (n *Node) ready(env *protocol.Env) {
	for n.Raft.HasReady() {
		rd := n.Raft.Ready()
		env.Assert(raft.IsEmptySnap(rd.Snapshot), "a snapshot: logs are never compacted here")
		n.write(rd)
		for _, m := range rd.Messages {
			env.Assert(len(m.GetContext()) == 0 && m.Snapshot == nil, "a message with more than Message has")
			env.Send(protocol.ID(m.GetTo())-1, fromRaft(m))
		}
		for _, e := range rd.CommittedEntries {
			n.apply(env, e)
		}
		n.Raft.Advance(rd)
	}
	status := n.Raft.BasicStatus()
	if status.RaftState == raft.StateLeader && (len(n.Led) == 0 || n.Led[len(n.Led)-1] != status.GetTerm()) {
		n.Led = append(n.Led, status.GetTerm())
	}
}

// write puts the state and entries on the disk.
func (n *Node) write(rd raft.Ready) {
	if n.Bug == LateEntries && len(rd.Entries) > 0 {
		n.synced = n.Disk.copy()
	}
	for _, disk := range []*Disk{n.Disk, n.synced} {
		if disk != nil && !raft.IsEmptyHardState(rd.HardState) {
			disk.Hard = Hard{rd.HardState.GetTerm(), rd.HardState.GetVote(), rd.HardState.GetCommit()}
		}
	}
	if n.Bug == ForgetVote {
		n.Disk.Hard.Vote = raft.None
	}
	n.Disk.append(rd.Entries)
}

// sync is the end of a write that was late.
func (n *Node) sync() { n.synced = nil }

// apply gives an entry to the application. After a restart it gets the same entries again.
func (n *Node) apply(env *protocol.Env, e *raftpb.Entry) {
	if e.GetType() == raftpb.EntryConfChange {
		var c raftpb.ConfChange
		env.Assert(proto.Unmarshal(e.GetData(), &c) == nil, "a change of the configuration is no message")
		n.Raft.ApplyConfChange(&c)
	}
	entry := entryOf(e)
	if n.applied == len(n.Applied) {
		n.Applied = append(n.Applied, entry)
	}
	env.Assert(n.Applied[n.applied] == entry, "after a restart another entry is applied")
	n.applied++
}

// Summary is what charts show of a node.
func (n *Node) Summary() any {
	s := Summary{Hard: n.Disk.Hard, Log: n.Disk.Log, State: "down"}
	if n.Raft != nil {
		status := n.Raft.BasicStatus()
		s.State = strings.TrimPrefix(status.RaftState.String(), "State")
		s.Hard = Hard{status.GetTerm(), status.GetVote(), status.GetCommit()}
	}
	return s
}

// Summary is the part of a node that papers on Raft talk of.
type Summary struct {
	State string
	Hard  Hard
	Log   []Entry
}

// zeros are bytes of a random generator that says nothing else.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Options are the bounds of a model, and what is wrong in it.
type Options struct {
	Left    []Budget // by node
	Faults  protocol.Faults
	Ordered bool
	// OneEntry bounds an append message to one entry.
	OneEntry bool
	// SameSize leaves the bound on what is applied together to raft.
	SameSize bool
	// Disks are what nodes begin with, beyond the first entry; they may be left out.
	Disks []Disk
	Bug   Bug
}

// Model is a cluster. All nodes have applied a first entry of term 1, which says who belongs to it.
// It sets rand.Reader, from which raft draws time-outs that are never used.
func Model(o Options) *protocol.Model {
	rand.Reader = zeros{}
	m := &protocol.Model{Faults: o.Faults, Properties: properties(), Constants: []any{logger}}
	if o.Ordered {
		m.Network = protocol.Ordered
	}
	// Messages of protobuf hold a pointer to the description of their type.
	for _, message := range []proto.Message{&raftpb.Entry{}, &raftpb.HardState{}, &raftpb.ConfChange{},
		&raftpb.ConfState{}, &raftpb.Message{}} {
		m.Constants = append(m.Constants, message.ProtoReflect().Type())
	}
	var voters []uint64
	for i := range o.Left {
		voters = append(voters, uint64(i)+1)
		m.Names = append(m.Names, fmt.Sprint(i+1))
	}
	for i, left := range o.Left {
		n := &Node{Disk: &Disk{Hard: Hard{Term: 1, Commit: 1}}, Left: left, Bug: o.Bug}
		if o.Disks != nil {
			n.Disk = o.Disks[i].copy()
		}
		n.Disk.Voters = voters
		if !o.OneEntry {
			n.MaxSize = 1 << 20
		}
		if !o.SameSize {
			n.MaxApply = 1 << 20
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}
