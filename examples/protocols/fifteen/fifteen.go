// Package fifteen is the 15-puzzle as a protocol, a model of StEAM (Edelkamp, Jabbar, Sulewski:
// "Distributed Verification of Multi-threaded C++ Programs", PDMC 2007). Each cell of the board is
// a node. The empty cell asks a neighbor for its tile. The neighbor hands it over and is empty
// then. Who gets a tile asks, in the name of the cell that is empty now, one of its neighbors. So
// there is one message under way at any time, and a move takes two steps. Runs never take a move
// back at once: no shortest run does.
package fifteen

import (
	"math/rand/v2"

	"github.com/tandem-mc/tandem/protocol"
)

// Side is how many cells a row has, Cells how many there are.
const (
	Side  = 4
	Cells = Side * Side
)

// Board has the tile of each cell; 0 is none. The goal has each tile in the cell of its number.
type Board [Cells]int

// Cell is a cell of the board.
type Cell struct{ Tile int }

// The messages.
type (
	// Take asks a cell to give its tile to another one.
	Take struct{ To protocol.ID }
	// Tile is a tile on the way to a cell.
	Tile struct {
		Number int
		To     protocol.ID
	}
)

// Start has the empty cell ask a neighbor.
func (c *Cell) Start(env *protocol.Env) {
	if c.Tile == 0 {
		ask(env, env.ID(), env.ID())
	}
}

// Receive gives a tile away, or takes one.
func (c *Cell) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Take:
		env.Send(m.To, Tile{c.Tile, m.To})
		c.Tile = 0
	case Tile:
		c.Tile = m.Number
		ask(env, from, env.ID())
	}
}

// ask asks one of the neighbors of an empty cell, but for one of them.
func ask(env *protocol.Env, empty, without protocol.ID) {
	var list []int
	for _, n := range neighbors(int(empty)) {
		if n != int(without) {
			list = append(list, n)
		}
	}
	env.Send(protocol.ID(list[env.Choose(len(list))]), Take{empty})
}

// neighbors are the cells beside one.
func neighbors(cell int) (list []int) {
	for _, n := range []int{cell - Side, cell - 1, cell + 1, cell + Side} {
		if n >= 0 && n < Cells && distance(cell, n) == 1 {
			list = append(list, n)
		}
	}
	return list
}

// distance is how many moves a tile needs from one cell to another at least.
func distance(a, b int) int {
	abs := func(n int) int { return max(n, -n) }
	return abs(a/Side-b/Side) + abs(a%Side-b%Side)
}

// Model is violated by a run that solves the puzzle.
func Model(b Board) *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{protocol.Always("not solved",
		func(id protocol.ID, n protocol.Node) bool { return n.(*Cell).Tile == int(id) },
		func(isRight []bool) bool {
			for _, r := range isRight {
				if !r {
					return true
				}
			}
			return false
		})}}
	for _, tile := range b {
		m.Nodes = append(m.Nodes, &Cell{tile})
	}
	return m
}

// Manhattan is the sum of the distances of all tiles, in steps. It is admissible, since a move
// takes two steps and moves one tile by one cell.
func Manhattan() protocol.Estimate {
	return protocol.NewEstimate(func(id protocol.ID, n protocol.Node) int {
		if tile := n.(*Cell).Tile; tile != 0 {
			return 2 * distance(tile, int(id))
		}
		return 0
	}, func(steps []int, messages []protocol.Message) (sum int) {
		for _, s := range steps {
			sum += s
		}
		// A tile on the way has one step to go to its next cell.
		for _, m := range messages {
			if tile, ok := m.Body.(Tile); ok {
				sum += 1 + 2*distance(tile.Number, int(tile.To))
			}
		}
		return sum
	})
}

// Goal is the board that is solved.
func Goal() (b Board) {
	for i := range b {
		b[i] = i
	}
	return b
}

// Random is a board that can be solved, any with the same chance. A shortest solution has some 53
// moves.
func Random(seed uint64) Board {
	b := Goal()
	r := rand.New(rand.NewPCG(seed, 15))
	r.Shuffle(Cells, func(i, j int) { b[i], b[j] = b[j], b[i] })
	if !b.isSolvable() {
		// Two tiles change places, which changes the parity.
		i, j := b.find(1), b.find(2)
		b[i], b[j] = b[j], b[i]
	}
	return b
}

// Walk is a board after some random moves from the goal, of which none takes the last one back.
func Walk(seed uint64, moves int) Board {
	b := Goal()
	r := rand.New(rand.NewPCG(seed, 16))
	empty, last := 0, 0
	for range moves {
		n := last
		for list := neighbors(empty); n == last; {
			n = list[r.IntN(len(list))]
		}
		b[empty], b[n] = b[n], 0
		empty, last = n, empty
	}
	return b
}

// find is the cell of a tile.
func (b *Board) find(tile int) int {
	for i, t := range b {
		if t == tile {
			return i
		}
	}
	return -1
}

// isSolvable says whether the parity of the permutation is that of the way of the empty cell.
func (b *Board) isSolvable() bool {
	parity := distance(b.find(0), 0)
	for i, t := range b {
		for _, u := range b[:i] {
			if u > t {
				parity++
			}
		}
	}
	return parity%2 == 0
}
