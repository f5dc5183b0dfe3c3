// Package named has models of the examples by their names, for commands that measure searches.
package named

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/examples/protocols/paxos"
	"github.com/tandem-mc/tandem/examples/protocols/synod"
	"github.com/tandem-mc/tandem/examples/protocols/twophase"
	"github.com/tandem-mc/tandem/protocol"
)

// Model is a model by its name: of Paxos (2,3,1) with rounds, right or faulty, or with so many
// acceptors and single messages, of Paxos of three nodes with proposals, or of two-phase commit
// with managers.
func Model(name string) (*protocol.Model, error) {
	kind, size, _ := strings.Cut(name, ":")
	n, err := strconv.Atoi(size)
	switch {
	case err != nil:
	case kind == "synod", kind == "faulty":
		c := synod.Config{Proposers: 2, Acceptors: 3, Learners: 1, Rounds: n, Quorums: n > 1,
			Faulty: kind == "faulty"}
		return synod.Model(c), nil
	case kind == "acceptors":
		return synod.Model(synod.Config{Proposers: 2, Acceptors: n, Learners: 1, Rounds: 1}), nil
	case kind == "paxos":
		return paxos.Model(3, n), nil
	case kind == "twophase":
		return twophase.Model(n), nil
	}
	return nil, fmt.Errorf("there is no model %q: take synod:1, paxos:2, twophase:8 or such", name)
}
