// Command judge collects what the nodes have applied to their state machines, and which terms they
// have led. No two nodes may have applied other entries at one index, or have led one term.
package main

import (
	"encoding/json"
	"fmt"
	"net"
)

// report is what a node tells when it is done.
type report struct {
	Applied map[uint64]string // by index
	Led     map[uint64]string // the node, by term
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:7900")
	if err != nil {
		panic(err)
	}
	applied, led := map[uint64]string{}, map[uint64]string{}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		var r report
		// A node that crashes in the middle of it reports again.
		if json.NewDecoder(conn).Decode(&r) == nil {
			agree("entry", applied, r.Applied)
			agree("the leader of term", led, r.Led)
		}
		conn.Close()
	}
}

// agree adds what a node says to what others have said.
func agree(what string, all, one map[uint64]string) {
	for number, value := range one {
		if was, known := all[number]; known && was != value {
			panic(fmt.Sprintf("%s %d is %q for one node, and %q for another", what, number, was, value))
		}
		all[number] = value
	}
}
