package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/kept"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// keeper keeps a search in a file, from which it can go on. The parts of the file are a
// description of the model, the table of its handlers, and hashes of what local states and
// messages look like. Behind them are the states.
type keeper struct {
	machine *machine
	table   *table.Table
	file    kept.File
	always  bool          // at each level
	last    time.Time     // when it was kept, or begun
	took    time.Duration // to write it
	isSaved bool
	// looks are the hashes: of local states by node, and of messages behind them. Seen is how many
	// of each are in them, since all numbers stay.
	looks []hash.Hash64
	seen  []int
}

// keptParts is how many parts a file has.
const keptParts = 3

// A search is kept for the first time after firstKept, and then after so much time that to keep it
// takes one part of rarely.
const (
	firstKept = 10 * time.Second
	rarely    = 20
)

// errNotKept is of searches that cannot be gone on with.
var errNotKept = errors.New("only a breadth-first search goes on later, if it is not reduced and has no " +
	"alike nodes: leave out Resume, or these")

// errNotExternal is of searches that know no files of states.
var errNotExternal = errors.New("only a breadth-first search has its states in files: leave out External, " +
	"or Search")

// newDisk is where an external search has its states. Those of a search that is kept have a name of
// their own, by which the next check finds them.
func newDisk(o Options, memory uint64) (*global.Disk, error) {
	name, left, err := external.NameFor(o.Resume)
	d := &global.Disk{Directory: o.External, Name: name, Bound: o.Disk, Sizes: external.SizesFor(memory)}
	if o.onDisk != nil {
		o.onDisk(d)
	}
	// A part tells the one that leads what is wrong with the directory.
	if o.session == nil {
		err = errors.Join(err, external.Probe(o.External, left))
	}
	return d, err
}

// newKeeper has a search go on from a file, if that is there, and be kept in it. Handlers run to
// fill the table, and so does the audit of a sample of them. A file that cannot be written is an
// error now, and not after an hour.
func newKeeper(m *machine, o Options, c *global.Config) (*keeper, error) {
	if o.Search != BreadthFirst || o.Reduce || len(m.exchanges) > 0 {
		return nil, errNotKept
	}
	k := &keeper{machine: m, table: c.Table, file: kept.File(o.Resume), always: o.keepAlways,
		last: time.Now()}
	for range len(m.model.Nodes) + 1 {
		k.looks, k.seen = append(k.looks, fnv.New64a()), append(k.seen, 0)
	}
	if err := k.file.Probe(); err != nil {
		return nil, err
	}
	c.Keep = k.keep
	if _, err := os.Stat(o.Resume); errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	c.From = func(read func(*bufio.Reader) error) error {
		return k.file.Read(keptParts, func(_ [][]byte, states *bufio.Reader) error { return read(states) })
	}
	// The states are read when the table is there: their numbers are those of the table. A file
	// that has a part only is told from one of another model here, before any handler runs.
	err := k.file.Check()
	if err == nil {
		err = k.file.Read(keptParts, k.readTable)
	}
	return k, err
}

// keep writes the search, if it is time to. It is called when no handler runs, so the table is at
// rest. A write that fails is tried again when it is due the next time; what was kept before is
// still there.
func (k *keeper) keep(isLast bool, write func(io.Writer) error) error {
	if !isLast && !k.always && time.Since(k.last) < max(firstKept, rarely*k.took) {
		return nil
	}
	start := time.Now()
	looks, err := k.look()
	if err == nil {
		err = k.file.Write([][]byte{[]byte(k.description()), k.table.Append(nil), looks}, write)
	}
	k.last = time.Now()
	k.took, k.isSaved = k.last.Sub(start), k.isSaved || err == nil
	return err
}

// description says which model a search is of.
func (k *keeper) description() string {
	m := k.machine.model
	text := fmt.Sprintf("%v, %+v, late start %v, running %v", m.Network, m.Faults, m.LateStart,
		m.Running != nil)
	for i, node := range m.Nodes {
		text += fmt.Sprintf("; %s: %T %s", m.name(i), node, show.Value(node))
	}
	for _, p := range k.machine.judge.properties {
		text += fmt.Sprintf("; %s, %d", p.name, p.kind)
	}
	return text
}

// look returns the hashes of what all local states and messages look like. Handlers that have
// changed make others. Images themselves would not do: their types have numbers in the order in
// which a process has met them. A text shows values and no addresses, so it is the same in each
// process. Of a node with very many fields it does not show all, so this finds most changes of the
// code, and not each.
func (k *keeper) look() ([]byte, error) {
	locals, messages := k.table.Numbers()
	for node, n := range locals {
		for ; k.seen[node] < n; k.seen[node]++ {
			fields, err := k.machine.fields(k.table, node, table.Local(k.seen[node]))
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(k.looks[node], fields)
		}
	}
	last := len(locals)
	for ; k.seen[last] < messages; k.seen[last]++ {
		m := k.table.Message(table.Message(k.seen[last]))
		fmt.Fprintln(k.looks[last], m.From, m.To, k.machine.show(m.Image))
	}
	// A hash may be asked for and go on.
	var sums []byte
	for _, h := range k.looks {
		sums = h.Sum(sums)
	}
	return sums, nil
}

// readTable reads all that is before the states.
func (k *keeper) readTable(parts [][]byte, _ *bufio.Reader) error {
	if string(parts[0]) != k.description() {
		return k.other()
	}
	switch err := k.table.Read(parts[1]); {
	case errors.Is(err, table.ErrOther):
		return k.other()
	case errors.Is(err, table.ErrKept):
		return k.file.Damaged()
	case err != nil:
		return err
	}
	looks, err := k.look()
	if err == nil && !bytes.Equal(looks, parts[2]) {
		err = k.other()
	}
	return err
}

// other is the error of a file that is of another model.
func (k *keeper) other() error {
	return fmt.Errorf("%s is of another model, or the model has changed: remove the file, or name "+
		"another one", k.file)
}

// end is called with the result. A search that was complete is not needed any more. One that has
// met a violation is not either: the model will be changed, and then the file would be refused.
func (k *keeper) end(r *Result) error {
	// A reason is a bound. If the file could not be written, the search has said so in it.
	if r.Reason != "" && k.isSaved {
		r.Reason += "; the next check goes on from " + string(k.file)
	}
	if r.Reason != "" {
		return nil
	}
	if err := os.Remove(string(k.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a search that has ended: %w", err)
	}
	return nil
}
