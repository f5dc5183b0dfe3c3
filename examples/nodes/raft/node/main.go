// Command node is one of three nodes of hashicorp/raft, unmodified. It proposes a few values, and
// publishes what it applies, and the terms in which it leads.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/tandem-mc/tandem"
)

var (
	id      = flag.String("id", "a", "the node: a, b or c")
	durable = flag.Bool("durable", false, "keep logs and votes in a file")
)

var addresses = map[string]string{"a": "127.0.0.1:7901", "b": "127.0.0.1:7902", "c": "127.0.0.1:7903"}

// machine is the state machine: it publishes what is applied to it.
type machine struct{ applied int }

// Apply implements raft.FSM.
func (m *machine) Apply(l *raft.Log) any {
	m.applied++
	tandem.Publish(fmt.Sprint("entry ", m.applied), string(l.Data))
	return nil
}

// Snapshot and Restore implement raft.FSM.
func (*machine) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("there are none") }
func (*machine) Restore(io.ReadCloser) error         { return errors.New("there are none") }

func main() {
	flag.Parse()
	r := start()
	go watch(r)
	for i := range 12 {
		time.Sleep(400 * time.Millisecond)
		r.Apply([]byte(fmt.Sprint(*id, i)), time.Second) // refused where it is not the leader
	}
	time.Sleep(time.Second)
}

// start starts the node, with the time-outs that raft has by default.
func start() *raft.Raft {
	config := raft.DefaultConfig()
	config.LocalID, config.LogOutput = raft.ServerID(*id), io.Discard
	transport, err := raft.NewTCPTransport(addresses[*id], nil, 3, 10*time.Second, io.Discard)
	if err != nil {
		panic(err)
	}
	var logs raft.LogStore
	var votes raft.StableStore
	if memory := raft.NewInmemStore(); !*durable {
		logs, votes = memory, memory
	} else {
		store, err := boltdb.NewBoltStore(filepath.Join(os.TempDir(), "raft.bolt"))
		if err != nil {
			panic(err)
		}
		logs, votes = store, store
	}
	r, err := raft.NewRaft(config, &machine{}, logs, votes, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		panic(err)
	}
	var servers []raft.Server
	for _, name := range []string{"a", "b", "c"} {
		servers = append(servers, raft.Server{ID: raft.ServerID(name),
			Address: raft.ServerAddress(addresses[name])})
	}
	// It is refused where a log was found, since the cluster is there already.
	r.BootstrapCluster(raft.Configuration{Servers: servers})
	return r
}

// watch publishes the terms in which the node is the leader.
func watch(r *raft.Raft) {
	for is := range r.LeaderCh() {
		term := r.CurrentTerm()
		if is && r.State() == raft.Leader && r.CurrentTerm() == term {
			tandem.Publish(fmt.Sprint("leader of term ", term), *id)
		}
	}
}
