package syscall

// The content of regular files that the execution has written: blocks, and
// holes where there are none.

// diskObject is the space that all files share.
func diskObject() uint64 { return tandemNamed(0, "") }

// block returns a block to write to.
func (n *tandemNode) block(i int64) (*[tandemBlockSize]byte, Errno) {
	for int64(len(n.blocks)) <= i {
		n.blocks = append(n.blocks, nil)
	}
	if n.blocks[i] == nil {
		if e := tandemReserveBlock(); e != 0 {
			return nil, e
		}
		n.keepBlock(i)
		n.blocks[i] = tandemFreshBlock()
	} else {
		n.ownBlock(i)
	}
	return n.blocks[i], 0
}

// tandemReserveBlock takes the space of one block from the disk. Taking commutes as long as half
// of the disk is free afterwards: a transition that has not been run yet, but is known to take
// no more than that half, then finds room whatever others take within theirs.
func tandemReserveBlock() Errno {
	f := &tandemFiles
	if f.used+tandemBlockSize > f.limit {
		tandemNoted(accessWrite, diskObject())
		return ENOSPC
	}
	f.used += tandemBlockSize
	kind := uint8(accessCommute)
	if f.used > f.limit/2 {
		kind = accessWrite
	}
	tandemNoted(kind, diskObject())
	return 0
}

func tandemFreshBlock() *[tandemBlockSize]byte {
	f := &tandemFiles
	if last := len(f.free) - 1; last >= 0 {
		b := f.free[last]
		f.free = f.free[:last]
		clear(b[:])
		return b
	}
	return new([tandemBlockSize]byte)
}

// ownBlock makes a block of the operation that is under way its own, if what was there has to stay.
func (n *tandemNode) ownBlock(i int64) {
	if n.keepBlock(i) {
		b := *n.blocks[i]
		n.blocks[i] = &b
	}
}

// discard frees the blocks from the given one on. Where the program may crash, they may come back.
func (n *tandemNode) discard(from int64) {
	f := &tandemFiles
	for i := from; i < int64(len(n.blocks)); i++ {
		if n.blocks[i] != nil {
			if !tandemMayCrash() {
				f.free = append(f.free, n.blocks[i])
			}
			n.keepBlock(i)
			n.blocks[i] = nil
			tandemReturnBlock()
		}
	}
	n.blocks = n.blocks[:min(from, int64(len(n.blocks)))]
}

// tandemReturnBlock gives the space of one block back.
func tandemReturnBlock() {
	tandemFiles.used -= tandemBlockSize
	tandemNoted(accessCommute, diskObject())
}

// readAt fills b from an offset, up to the end of the file.
func (n *tandemNode) readAt(b []byte, at int64) (int, Errno) {
	if n.onHost {
		return n.readHost(b, at)
	}
	total := 0
	b = b[:max(0, min(int64(len(b)), n.size-at))]
	for len(b) > 0 {
		within := at % tandemBlockSize
		part := b[:min(int64(len(b)), tandemBlockSize-within)]
		if i := at / tandemBlockSize; i < int64(len(n.blocks)) && n.blocks[i] != nil {
			copy(part, n.blocks[i][within:])
		} else {
			clear(part)
		}
		b, at, total = b[len(part):], at+int64(len(part)), total+len(part)
	}
	return total, 0
}

// write is writeAt as an operation of its own.
func (n *tandemNode) write(b []byte, at int64, synced bool) (int, Errno) {
	if !tandemMayCrash() || len(b) == 0 || at+int64(len(b)) > tandemMaxFileSize {
		return n.writeAt(b, at)
	}
	n.beginWrite(len(b), synced)
	total, e := n.writeAt(b, at)
	tandemFinish()
	if synced {
		n.sync(false)
	}
	return total, e
}

// writeAt writes b at an offset, or what there is space for.
func (n *tandemNode) writeAt(b []byte, at int64) (int, Errno) {
	if at+int64(len(b)) > tandemMaxFileSize {
		return 0, EFBIG
	}
	if e := n.change(n.size); e != 0 {
		return 0, e
	}
	total, from := 0, at
	for len(b) > 0 {
		block, e := n.block(at / tandemBlockSize)
		if e != 0 && total == 0 {
			return 0, e
		}
		if e != 0 {
			break // a short write; the next one fails
		}
		done := copy(block[at%tandemBlockSize:], b)
		b, at, total = b[done:], at+int64(done), total+done
		n.size = max(n.size, at)
	}
	n.altered = true
	n.modified = tandemNow()
	n.changed = n.modified
	n.show(from, at)
	return total, 0
}

// change prepares a change of the content, of which size bytes remain.
func (n *tandemNode) change(size int64) Errno {
	if n.mapped {
		tandemRefuseCall("changing a file that package initialisation has mapped into memory")
	}
	n.guard()
	return n.own(size)
}

// guard refuses to change what is not a file on a disk.
func (n *tandemNode) guard() {
	for _, tree := range [...]string{"/proc", "/sys"} {
		if len(n.host) >= len(tree) && n.host[:len(tree)] == tree {
			tandemRefuseCall("changing " + n.host + ", which is a part of the system")
		}
	}
}

func (n *tandemNode) truncate(size int64) Errno {
	if size < 0 {
		return EINVAL
	}
	if size > tandemMaxFileSize {
		return EFBIG
	}
	n.begin("truncate")
	defer tandemFinish()
	if e := n.change(size); e != 0 {
		return e
	}
	from, to := min(size, n.size), max(size, n.size)
	if size < n.size {
		n.discard((size + tandemBlockSize - 1) / tandemBlockSize)
		if i := size / tandemBlockSize; i < int64(len(n.blocks)) && n.blocks[i] != nil {
			n.ownBlock(i)
			clear(n.blocks[i][size%tandemBlockSize:])
		}
	}
	n.size, n.altered = size, true
	n.show(from, to)
	n.modified = tandemNow()
	n.changed = n.modified
	return 0
}

// unused frees what a file holds if nothing leads to it any more.
func (n *tandemNode) unused() {
	if n.opened == 0 {
		n.drop()
		switch {
		case n.links > 0:
		case tandemMayCrash(): // it may come back
			for _, b := range n.blocks {
				if b != nil {
					tandemReturnBlock()
				}
			}
		default:
			n.discard(0)
			n.onHost = false
		}
	}
}
