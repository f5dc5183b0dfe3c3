package global

import (
	"bufio"
	"io"
	"os"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Config says what to search, and how far.
type Config struct {
	system.System
	// Judge judges the local states of all nodes, by their classes. It may be called by several
	// goroutines at a time. Nil: there is nothing to judge.
	Judge func(classes []uint32) Judgement
	// JudgeEnd judges a state in which nothing can happen any more. It returns the property that is
	// violated, or a negative number. Nil: there is nothing to judge.
	JudgeEnd func(classes []uint32) int
	// Select says which nodes' transitions are enough to explore in a state, as bits. Nil: all.
	Select func(locals []table.Local, messages []table.Message, canArrive func(i int) bool) uint64
	// Proviso: a state from which the selected transitions lead only to states that are expanded
	// already is expanded in full. So no transition is put off for ever in a cycle (Bosnacki,
	// Holzmann: "Improving Spin's Partial-Order Reduction for Breadth-First Search", SPIN 2005).
	Proviso bool
	// Alike are nodes that can be exchanged; nil: there are none. Of states that differ in their
	// names only, one is visited. Not with Select and Within.
	Alike *alike.Config
	// DepthFirst searches with a stack, with one worker.
	DepthFirst bool
	// Depth bounds the steps of a run. Zero is no bound.
	Depth   int
	Workers int // at least 1
	// Keep is called between two levels of a search breadth first, which is not reduced and knows
	// no alike nodes, and with isLast when it ends at a bound. It may have write write the search
	// as it was when its level began. Nil: the search is not kept.
	Keep func(isLast bool, write func(io.Writer) error) error
	// From has read read what such a search has written; the table is as it was then. It may be
	// called several times. Nil: the search begins at the start.
	From func(read func(*bufio.Reader) error) error
	// Disk is where a search breadth first has its states when memory has no more room for them.
	// Nil: nowhere.
	Disk *Disk
	// Stop is called now and then, by several goroutines at a time. A reason ends the search.
	Stop func(Progress) (reason string)
}

// Judgement is what the local states of all nodes mean for the properties.
type Judgement struct {
	// Violated is the number of a property that does not hold here; negative if all do.
	Violated int
	// Reached has a bit for each property that is to be reached, and is here.
	Reached uint64
}

// Progress is how far a search is.
type Progress struct {
	States      int
	Expanded    int // those whose transitions have been visited, or are being visited
	Transitions int64
	Depth       int   // of the states that are expanded now
	Bytes       int64 // of the visited states, in memory
	Disk        int64 // of files
}

// Disk says where files are.
type Disk struct {
	// Directory is there already. Name is that of a directory in it for files that stay if the
	// search is kept; else it is empty.
	Directory, Name string
	Bound           uint64 // of the bytes; zero is none
	Sizes           external.Sizes
	// Write writes to a file; nil is that of the file. Tests have it fail.
	Write func(file *os.File, data []byte) (int, error)
}

// shards is into how many parts states that are bytes are divided. With few parts, workers wait for
// each other.
func (c *Config) shards() int {
	if c.Workers > 1 {
		return min(8*c.Workers, 64)
	}
	return 1
}
