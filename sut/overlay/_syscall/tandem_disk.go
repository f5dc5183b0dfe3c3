// What a crash of the program loses. Operations reach the disk in their order. So those that are
// not durable are kept, each with what it has found, and a crash undoes some of the last.
//
// An operation is durable once its file is synced or, if it changes names, their directory. That of
// a file also makes durable that it was made, and the directories above it. What is durable of a
// file or of a name is all up to some operation on it: so undoing the others, from the last one on,
// leaves what there would be without them.

package syscall

import "unsafe"

// tandemDisk is what is known beside the files of a program that may crash.
var tandemDisk struct {
	changes []tandemChange // that are not durable
	number  uint64         // of the last change
	open    bool           // the last one is under way: what it finds is kept
	early   bool           // there were some before main
	found   bool           // the disk of the schedule was there before package initialisation
}

// tandemChange is an operation that is not durable.
type tandemChange struct {
	number uint64
	parts  []tandemWas
	syncs  bool // it is about to be durable
}

// tandemWas is what an operation has found: an entry of a directory, or a file itself.
type tandemWas struct {
	node       *tandemNode // the directory, or the file
	isEntry    bool
	makes      bool // the file that comes under the name is new
	name       string
	there, put *tandemNode // what was under the name, and what came there; nil: nothing
	changed    bool        // of the entry
	state      tandemState // of the node
}

// tandemState is what may change of a file besides its names.
type tandemState struct {
	mode, uid, gid uint32
	size           int64
	modified       Timespec
	altered        bool
	onHost         bool
	length         int              // of the list of blocks
	blocks         []tandemBlockWas // those that are others now
}

// tandemBlockWas is a block of a file as it was; nil: there were zeros.
type tandemBlockWas struct {
	index int64
	block *[tandemBlockSize]byte
}

// tandemMayCrash reports whether any of this counts. Where the program cannot crash, the disk does
// not outlive an execution, and nothing is kept.
//
//go:linkname tandemMayCrash
func tandemMayCrash() bool

//go:linkname tandemSetUnsynced
func tandemSetUnsynced(n int)

//go:linkname tandemDiskInput
func tandemDiskInput(op uint8, operation []byte)

// tandemTellDisk tells the checker of an operation before it is done. It may be that the program
// crashes instead.
func tandemTellDisk(op uint8, operation string) {
	if !tandemIsOn() || !tandemHasPeers() {
		return
	}
	b := []byte(operation)
	_, _, deliveries, data := tandemExchange(exchangeDisk, 0, nil, 0, b[:min(len(b), exchangeBytes)])
	tandemDiskInput(op, b)
	tandemDeliver(op, deliveries, data)
}

// begin begins an operation that changes a file. It goes on up to tandemFinish.
func (n *tandemNode) begin(verb string) {
	if tandemMayCrash() {
		tandemBegin(verb + " " + n.where())
		n.keep()
	}
}

// beginWrite is begin of a write.
func (n *tandemNode) beginWrite(size int, synced bool) {
	if !tandemMayCrash() {
		return
	}
	verb := "write "
	if synced {
		verb = "write and sync "
	}
	n.begin(verb + tandemDecimal(size) + " bytes to")
}

// tandemDecimal is a number in words.
func tandemDecimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return tandemDecimal(n/10) + string(rune('0'+n%10))
}

// begin begins an operation that changes what is at a place. from is where that comes from, or nil.
func (p *tandemPlace) begin(verb string, from *tandemPlace) {
	if !tandemMayCrash() {
		return
	}
	if from != nil {
		verb += " " + from.text() + " to"
	}
	tandemBegin(verb + " " + p.text())
}

// tandemBegin tells the checker of an operation, and then begins a change. What it finds, up to
// tandemFinish, is kept in its parts.
func tandemBegin(operation string) {
	tandemTellDisk(opFileWrite, operation)
	d := &tandemDisk
	// A process that finds another disk at main would have written to the one before.
	d.early = d.early || !tandemIsOn()
	d.number++
	d.changes = append(d.changes, tandemChange{number: d.number})
	d.open = true
}

// tandemFinish ends the operation that is under way, if one is.
func tandemFinish() {
	d := &tandemDisk
	if !d.open {
		return
	}
	d.open = false
	if last := len(d.changes) - 1; len(d.changes[last].parts) == 0 {
		d.changes = d.changes[:last] // it has failed
	}
	tandemSetUnsynced(len(d.changes))
}

// where is what people know a file by: where it is, or was last.
func (n *tandemNode) where() string {
	if n.is(S_IFDIR) {
		if path, there := n.path(); there {
			return path
		}
	}
	if n.place != "" {
		return n.place
	}
	return n.host
}

// text is where a place is, for people.
func (p *tandemPlace) text() string {
	if p.dir == nil {
		return "/"
	}
	dir, _ := p.dir.path()
	if dir == "/" {
		dir = ""
	}
	return dir + "/" + p.name
}

// tandemPart adds a part to the change that is under way; nil: none is.
func tandemPart() *tandemWas {
	d := &tandemDisk
	if !d.open {
		return nil
	}
	c := &d.changes[len(d.changes)-1]
	c.parts = append(c.parts, tandemWas{})
	return &c.parts[len(c.parts)-1]
}

// look notes that package initialisation looks at a file.
func (n *tandemNode) look() { n.looked = n.looked || !tandemIsOn() }

// keep notes what a file is like before it changes.
func (n *tandemNode) keep() {
	if was := tandemPart(); was != nil {
		was.node, was.state = n, n.state()
	}
}

// state is what a file is like, without its blocks.
func (n *tandemNode) state() tandemState {
	return tandemState{mode: n.mode, uid: n.uid, gid: n.gid, size: n.size, modified: n.modified,
		altered: n.altered, onHost: n.onHost, length: len(n.blocks)}
}

// keepBlock notes a block of a file that is about to change, after keep. It reports whether the
// block must stay as it is, for the change to be undone.
func (n *tandemNode) keepBlock(i int64) bool {
	d := &tandemDisk
	if !d.open {
		return false
	}
	parts := d.changes[len(d.changes)-1].parts
	was := &parts[len(parts)-1].state
	if was.onHost || i >= int64(was.length) {
		return false // it was not there
	}
	was.blocks = append(was.blocks, tandemBlockWas{i, n.blocks[i]})
	return true
}

// keepEntry notes what is under a name before something else is there.
func (p *tandemPlace) keepEntry(put *tandemNode) {
	was := tandemPart()
	if was == nil {
		return
	}
	was.node, was.isEntry, was.name, was.there, was.put = p.dir, true, p.name, p.node, put
	was.makes = put != nil && put.place == "" && put.host == ""
	was.state = p.dir.state()
	if i, found := p.dir.find(p.name); found {
		was.changed = p.dir.entries[i].changed
	}
}

// undo has all be as it was before a part of a change.
func (was *tandemWas) undo(number uint64) {
	n, s := was.node, &was.state
	if !was.isEntry {
		n.mode, n.uid, n.gid, n.size, n.modified, n.altered = s.mode, s.uid, s.gid, s.size, s.modified,
			s.altered
		for len(n.blocks) < s.length {
			n.blocks = append(n.blocks, nil)
		}
		n.blocks, n.onHost = n.blocks[:s.length], s.onHost
		for i := len(s.blocks) - 1; i >= 0; i-- { // one may be there twice
			n.blocks[s.blocks[i].index] = s.blocks[i].block
		}
		return
	}
	if was.there != nil {
		was.there.links++
	}
	if was.put != nil {
		was.put.links--
	}
	n.set(was.name, was.there)
	i, _ := n.find(was.name)
	n.entries[i].changed = was.changed
	if number > n.synced { // else a later change to the directory is durable
		n.modified, n.altered = s.modified, s.altered
	}
}

// tandemLose undoes the last changes that are not durable, at most so many.
func tandemLose(lost uint32) {
	d := &tandemDisk
	for ; lost > 0 && len(d.changes) > 0; lost-- {
		last := &d.changes[len(d.changes)-1]
		for i := len(last.parts) - 1; i >= 0; i-- {
			last.parts[i].undo(last.number)
		}
		d.changes = d.changes[:len(d.changes)-1]
	}
}

// sync makes durable what concerns a file; nil: all that there is. Where told is set, that is an
// operation that the checker is told of, unless there is nothing to make durable.
func (n *tandemNode) sync(told bool) {
	d := &tandemDisk
	if !tandemMayCrash() || n.mark() == 0 {
		return
	}
	if told {
		on := "all"
		if n != nil {
			on = n.where()
		}
		tandemTellDisk(opFileSync, "sync "+on)
	}
	left := d.changes[:0]
	// What they have replaced is never needed again.
	for i := range d.changes {
		c := d.changes[i]
		if !c.syncs {
			left = append(left, c)
			continue
		}
		for k := range c.parts {
			of := c.parts[k].node
			of.synced = max(of.synced, c.number)
		}
	}
	d.changes = left
	tandemSetUnsynced(len(left))
}

// mark marks what becomes durable with a file, and returns how much that is. From the last change
// on: with a change all earlier ones to the same file or name do, and with a file, that it was
// made, and so on for the directory in which it was.
func (n *tandemNode) mark() (marked int) {
	d := &tandemDisk
	made := []*tandemNode{n}
	for i := len(d.changes) - 1; i >= 0; i-- {
		c := &d.changes[i]
		c.syncs = n == nil
		for k := range c.parts {
			part := &c.parts[k]
			switch {
			case part.node == n, tandemIsSynced(part, d.changes[i+1:]):
				c.syncs = true
			case part.makes && tandemHas(made, part.put):
				c.syncs, made = true, append(made, part.node)
			}
		}
		if c.syncs {
			marked++
		}
	}
	return marked
}

// tandemHas reports whether a file is in a list.
func tandemHas(list []*tandemNode, n *tandemNode) bool {
	for _, other := range list {
		if other == n {
			return true
		}
	}
	return false
}

// tandemIsSynced reports whether one of the changes that are marked is to the same file or name.
func tandemIsSynced(part *tandemWas, changes []tandemChange) bool {
	for i := range changes {
		if !changes[i].syncs {
			continue
		}
		for k := range changes[i].parts {
			other := &changes[i].parts[k]
			if other.node == part.node && other.isEntry == part.isEntry && other.name == part.name {
				return true
			}
		}
	}
	return false
}

//go:linkname tandemCrashes
func tandemCrashes() (lost uint32, crashes bool)

//go:linkname tandemEndByCrash
func tandemEndByCrash()

// tandemPerhapsCrash ends the execution if the answer to an input says so.
func tandemPerhapsCrash() {
	if lost, crashes := tandemCrashes(); crashes {
		tandemLose(lost)
		tandemLeaveDisk()
		tandemEndByCrash()
	}
}

// tandemOwnFile reads from the file of the shared memory, or writes to it.
func tandemOwnFile(trap uintptr, b []byte, at int64) bool {
	for len(b) > 0 {
		n, _, e := RawSyscall6(trap, sharedFD, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			uintptr(at), 0, 0)
		if e != 0 || n == 0 {
			return false
		}
		b, at = b[n:], at+int64(n)
	}
	return true
}
