package libraries_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"
)

var spent = flag.Duration("time", time.Minute, "check nodes of raft that are durable for this `time`")

// TestNodesOfGRPC: within a bound on delays, a client and a server of gRPC are covered, as two
// programs and in one. Without it there is more in the client alone than so many executions.
func TestNodesOfGRPC(t *testing.T) {
	const grpc = "../nodes/grpc"
	together := []string{"check", "./together", "--search", "dpor"}
	expectIn(t, grpc, "", holds, "check", ".", "--delays", "1")
	expectIn(t, grpc, "", holds, append(together, "--delays", "1")...)
	expectIn(t, grpc, "", unknown, "check", ".", "--executions", "500")
	expectIn(t, grpc, "", unknown, append(together, "--executions", "500")...)
}

// TestNodesOfQUIC: an order is lost where a client of quic-go closes its connection too early. What
// was found is replayed. A client that waits gets its answer, also if datagrams are lost.
func TestNodesOfQUIC(t *testing.T) {
	const quic = "../nodes/quic"
	counterexample := filepath.Join(t.TempDir(), "counterexample")
	expectIn(t, quic, "", violated, "check", ".", "-o", counterexample)
	expectIn(t, quic, "", violated, "replay", counterexample, "--times", "20")
	expectIn(t, quic, "", unknown, "check", ".", "-c", "fixed.yaml")
}

// TestNodesOfRaft: nodes of hashicorp/raft that forget their logs and votes in a crash come to
// disagree, and so do nodes that are paused. What was found is replayed. Nodes that keep logs and
// votes do not disagree.
func TestNodesOfRaft(t *testing.T) {
	const raft = "../nodes/raft"
	counterexample := filepath.Join(t.TempDir(), "counterexample")
	expectIn(t, raft, "", violated, "check", ".", "--search", "random", "-o", counterexample)
	expectIn(t, raft, "", violated, "replay", counterexample, "--times", "20")
	expectIn(t, raft, "", violated, "check", ".", "-c", "pause.yaml", "-o", counterexample)
	expectIn(t, raft, "", violated, "replay", counterexample, "--times", "20")
	expectIn(t, raft, "", unknown, "check", ".", "-c", "durable.yaml", "--search", "random", "--time",
		spent.String())
}
