package nodes

import (
	"slices"
	"testing"
)

// both is the partition of two nodes.
func both() [][][2]int { return [][][2]int{{{0, 1}}} }

// TestPartitions: what a client comes to when the network to its server is parted for some time. It
// is the same without a partition where that is said.
func TestPartitions(t *testing.T) {
	read := []string{"data", "end", "reset", "late"}
	connect := []string{"made", "refused", "late"}
	for _, c := range []struct {
		name           string
		client, server []string
		all, can       []string
		without        []string
	}{
		// The network may be parted when the server writes, and heal then, later, or just in time.
		{"an answer is late", []string{"dial :7301", "not-by NOT 3"}, []string{"listen :7301", "accept",
			"sleep 1", "write x", "sleep 9"}, read, []string{"data", "late"}, []string{"data"}},
		// Nobody has a timer: the network heals before anybody gives up.
		{"nobody has a timer", []string{"dial :7301", "write x", "read-not NOT"},
			[]string{"listen :7301", "accept", "read 1", "write x", "expect data"}, read[:3],
			[]string{"data"}, []string{"data"}},
		// What was held arrives, after the client has waited in vain.
		{"after the heal", []string{"dial :7301", "not-by - 3", "not-by NOT 9"},
			[]string{"listen :7301", "accept", "sleep 1", "write x", "sleep 20"}, read,
			[]string{"data", "late"}, []string{"late"}},
		{"the end of the stream", []string{"dial :7301", "not-by NOT 3"},
			[]string{"listen :7301", "accept", "sleep 1"}, read, []string{"end", "late"}, []string{"end"}},
		// A server that sleeps does not close the connection, whatever the network does.
		{"no end before its time", []string{"dial :7301", "not-by NOT 3"},
			[]string{"listen :7301", "accept", "sleep 5"}, read, []string{"late"}, []string{"late"}},
		{"a connect", []string{"reach-not :7301 NOT 3"}, []string{"listen :7301", "sleep 1", "accept"},
			connect, []string{"made", "late"}, []string{"made"}},
		{"a connect is late", []string{"sleep 1", "reach-not :7301 NOT 3"},
			[]string{"listen :7301", "sleep 20"}, connect, []string{"made", "late"}, []string{"made"}},
		{"a connect without a limit", []string{"sleep 1", "reach-not :7301 NOT 0"},
			[]string{"listen :7301", "sleep 20"}, append(connect, "reset"),
			[]string{"made", "refused", "reset"}, []string{"made"}},
		// The heal may come before the connect is given up, or just in time.
		{"another connect", []string{"sleep 1", "reach :7301 3", "reach-not :7301 NOT 9"},
			[]string{"listen :7301", "sleep 4", "sleep 20"}, connect, []string{"made", "late"},
			[]string{"made"}},
		// What a node has sent gets through although it has closed the connection, and in order.
		{"closed and held", []string{"listen :7300", "dial :7301", "accept", "not-by NOT 9"},
			[]string{"listen :7301", "accept", "sleep 1", "write x", "close", "dial :7300",
				"sleep 4", "sleep 20"},
			read, []string{"end", "late"}, []string{"late"}},
		{"the end after data", []string{"dial :7301", "not-by - 3", "not-by - 9", "not-by NOT 9"},
			[]string{"listen :7301", "accept", "sleep 1", "write x", "close", "sleep 20"}, read,
			[]string{"data", "end", "late"}, []string{"end"}},
		// The server closes without having read: a reset, at any time after the heal.
		{"reset when it has healed", []string{"dial :7301", "write x", "sleep 3", "not-by NOT 4"},
			[]string{"listen :7301", "accept", "sleep 1", "close", "sleep 20"}, read,
			[]string{"end", "reset", "late"}, []string{"reset"}},
		// If the server has got a byte that it does not read, it resets the connection when it
		// closes it. What it had sent before and was held is lost then.
		{"held and lost", []string{"dial :7301", "write xy", "not-by - 3", "not-by NOT 9"},
			[]string{"listen :7301", "accept", "read 1", "sleep 1", "write z", "sleep 1", "close",
				"sleep 20"}, read, []string{"data", "end", "reset", "late"}, []string{"reset"}},
		{"held and not lost", []string{"dial :7301", "write xy", "not-by - 3", "not-by NOT 9"},
			[]string{"listen :7301", "accept", "read 2", "sleep 1", "write z", "sleep 1", "close",
				"sleep 20"}, read, []string{"data", "end", "late"}, []string{"end"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if can := comesTo(t, Config{}, c.client, c.server, c.all...); !slices.Equal(can, c.without) {
				t.Errorf("without a partition the client finds %q, want %q", can, c.without)
			}
			can := comesTo(t, Config{Partitions: both()}, c.client, c.server, c.all...)
			if !slices.Equal(can, c.can) {
				t.Errorf("the client finds %q, want %q", can, c.can)
			}
		})
	}
}
