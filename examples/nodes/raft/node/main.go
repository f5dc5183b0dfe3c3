// Command node is one of three nodes of hashicorp/raft, unmodified. It proposes a few values, and
// tells the judge what it has applied.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
)

var (
	id      = flag.String("id", "a", "the node: a, b or c")
	durable = flag.Bool("durable", false, "keep logs and votes in a file")
)

var addresses = map[string]string{"a": "127.0.0.1:7901", "b": "127.0.0.1:7902", "c": "127.0.0.1:7903"}

// machine is the state machine: it notes what is applied to it.
type machine struct {
	sync.Mutex
	Applied map[uint64]string
	Led     map[uint64]string
}

// Apply implements raft.FSM.
func (m *machine) Apply(l *raft.Log) any {
	m.Lock()
	defer m.Unlock()
	m.Applied[l.Index] = string(l.Data)
	return nil
}

// Snapshot and Restore implement raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("there are none") }
func (m *machine) Restore(io.ReadCloser) error         { return errors.New("there are none") }

func main() {
	flag.Parse()
	m := &machine{Applied: map[uint64]string{}, Led: map[uint64]string{}}
	r := start(m)
	go watch(r, m)
	for i := range 12 {
		time.Sleep(400 * time.Millisecond)
		r.Apply([]byte(fmt.Sprint(*id, i)), time.Second) // refused where it is not the leader
	}
	time.Sleep(time.Second)

	conn, err := net.Dial("tcp", "127.0.0.1:7900")
	if err != nil {
		panic(err)
	}
	m.Lock()
	report := map[string]map[uint64]string{"Applied": maps.Clone(m.Applied), "Led": maps.Clone(m.Led)}
	m.Unlock()
	if err := json.NewEncoder(conn).Encode(report); err != nil {
		panic(err)
	}
	conn.Close()
}

// start starts the node, with the time-outs that raft has by default.
func start(m *machine) *raft.Raft {
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
	r, err := raft.NewRaft(config, m, logs, votes, raft.NewInmemSnapshotStore(), transport)
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

// watch notes the terms in which the node is the leader.
func watch(r *raft.Raft, m *machine) {
	for is := range r.LeaderCh() {
		term := r.CurrentTerm()
		if is && r.State() == raft.Leader && r.CurrentTerm() == term {
			m.Lock()
			m.Led[term] = *id
			m.Unlock()
		}
	}
}
