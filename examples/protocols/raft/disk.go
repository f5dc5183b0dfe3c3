package raft

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Disk is what a node has written, as raft.Storage. The storage that comes with raft counts how
// often it was called, so no two of its states are equal.
type Disk struct {
	Hard   Hard
	Log    []Entry  // from index 2 on; the entry before it is of term 1
	Voters []uint64 // after that entry
}

// Hard is raftpb.HardState without pointers.
type Hard struct{ Term, Vote, Commit uint64 }

// Entry is one of a log, or of a message. Its index is where it is.
type Entry struct {
	Term uint64
	Type raftpb.EntryType
	Data string
}

// InitialState is what was written last, and who belonged to the cluster at first.
func (d *Disk) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	h := d.Hard
	return &raftpb.HardState{Term: &h.Term, Vote: &h.Vote, Commit: &h.Commit},
		&raftpb.ConfState{Voters: slices.Clone(d.Voters), AutoLeave: proto.Bool(false)}, nil
}

// Entries are those from lo on and before hi, and at least one.
func (d *Disk) Entries(lo, hi, maxSize uint64) (list []*raftpb.Entry, err error) {
	size := 0
	for i := lo; i < hi; i++ {
		e := d.Log[i-2].toRaft(i)
		if size += proto.Size(e); len(list) > 0 && uint64(size) > maxSize {
			break
		}
		list = append(list, e)
	}
	return list, nil
}

// Term is that of an entry.
func (d *Disk) Term(i uint64) (uint64, error) {
	if i == 1 {
		return 1, nil
	}
	return d.Log[i-2].Term, nil
}

// FirstIndex is that after the first entry, which counts as compacted.
func (d *Disk) FirstIndex() (uint64, error) { return 2, nil }

// LastIndex is that of the last entry.
func (d *Disk) LastIndex() (uint64, error) { return uint64(len(d.Log)) + 1, nil }

// Snapshot is never there.
func (d *Disk) Snapshot() (*raftpb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}

// append writes entries, over those that are there with the same index.
func (d *Disk) append(entries []*raftpb.Entry) {
	for _, e := range entries {
		d.Log = append(d.Log[:e.GetIndex()-2:e.GetIndex()-2], entryOf(e))
	}
}

func (d *Disk) copy() *Disk {
	c := *d
	c.Log = slices.Clone(d.Log)
	return &c
}

// entryOf and toRaft turn an entry into one of another type.
func entryOf(e *raftpb.Entry) Entry { return Entry{e.GetTerm(), e.GetType(), string(e.GetData())} }

func (e Entry) toRaft(index uint64) *raftpb.Entry {
	entry := &raftpb.Entry{Term: &e.Term, Index: &index, Type: &e.Type}
	if e.Data != "" {
		entry.Data = []byte(e.Data)
	}
	return entry
}

// Message is a raftpb.Message without pointers, and without those fields that stay empty here.
type Message struct {
	Type                         raftpb.MessageType
	Term, LogTerm, Index, Commit uint64
	Entries                      []Entry
	Reject                       bool
	RejectHint                   uint64
}

func fromRaft(m *raftpb.Message) Message {
	w := Message{
		Type: m.GetType(), Term: m.GetTerm(), LogTerm: m.GetLogTerm(), Index: m.GetIndex(),
		Commit: m.GetCommit(), Reject: m.GetReject(), RejectHint: m.GetRejectHint(),
	}
	for _, e := range m.GetEntries() {
		w.Entries = append(w.Entries, entryOf(e))
	}
	return w
}

func (w Message) toRaft(from, to protocol.ID) *raftpb.Message {
	m := &raftpb.Message{
		Type: &w.Type, From: proto.Uint64(uint64(from) + 1), To: proto.Uint64(uint64(to) + 1), Term: &w.Term,
		LogTerm: &w.LogTerm, Index: &w.Index, Commit: &w.Commit, Reject: &w.Reject, RejectHint: &w.RejectHint,
	}
	// Entries follow the one that the message names.
	for i, e := range w.Entries {
		m.Entries = append(m.Entries, e.toRaft(w.Index+1+uint64(i)))
	}
	return m
}
