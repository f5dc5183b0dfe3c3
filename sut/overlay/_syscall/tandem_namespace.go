package syscall

import "unsafe"

// Calls about paths that change what is where.

const (
	tandemRemoveDirectory = 0x200  // AT_REMOVEDIR
	tandemNoFollow        = 0x100  // AT_SYMLINK_NOFOLLOW
	tandemFollow          = 0x400  // AT_SYMLINK_FOLLOW
	tandemEmptyPath       = 0x1000 // AT_EMPTY_PATH
	tandemNoReplace       = 1      // RENAME_NOREPLACE
)

// parent checks that the entry of a place may be changed, and notes that it is.
func (p *tandemPlace) parent() Errno {
	switch {
	case p.dir == nil:
		return EBUSY
	case !tandemMay(p.dir, 3):
		return EACCES
	case p.dir.links == 0:
		return ENOENT // the directory was removed
	}
	p.dir.guard()
	p.noteChange()
	return 0
}

// noteChange records that a place changes. The list of all entries of its
// directory is the same in whatever order they came.
func (p *tandemPlace) noteChange() {
	tandemNoted(accessWrite, p.object())
	if p.dir != nil {
		tandemNoted(accessCommute, p.dir.number)
	}
}

// put makes node what is at the place.
func (p *tandemPlace) put(node *tandemNode) {
	if p.node != nil && p.node.is(S_IFDIR) {
		p.dir.links--
	}
	if node != nil && node.is(S_IFDIR) {
		p.dir.links++
	}
	p.keepEntry(node)
	if tandemMayCrash() && node != nil {
		node.place = p.text()
	}
	p.dir.set(p.name, node)
	p.node = node
	p.dir.altered = true
	p.dir.modified = tandemNow()
	p.dir.changed = p.dir.modified
}

// tandemMake makes a new file at a place.
func tandemMake(p *tandemPlace, mode uint32) (*tandemNode, Errno) {
	if p.node != nil {
		return nil, EEXIST
	}
	if e := p.parent(); e != 0 {
		return nil, e
	}
	if e := tandemReserveBlock(); e != 0 {
		return nil, e
	}
	p.begin(tandemMaking(mode), nil)
	defer tandemFinish()
	f := &tandemFiles
	n := &tandemNode{number: tandemNumber(), mode: mode, links: 1, uid: f.uid, gid: f.gid, reader: -1}
	if n.is(S_IFDIR) {
		n.links = 2
	}
	if p.dir.mode&S_ISGID != 0 {
		n.gid = p.dir.gid
		if n.is(S_IFDIR) {
			n.mode |= S_ISGID
		}
	}
	n.stamp()
	p.put(n)
	return n, 0
}

// tandemMaking is what making a file is called.
func tandemMaking(mode uint32) string {
	switch mode & S_IFMT {
	case S_IFDIR:
		return "mkdir"
	case S_IFLNK:
		return "symlink"
	case S_IFSOCK:
		return "bind"
	}
	return "create"
}

func tandemMkdir(dirfd int, path unsafe.Pointer, mode uint32) Errno {
	p, e := tandemLocate(true, false, dirfd, tandemText(path), tandemLinksNever)
	if e != 0 {
		return e
	}
	if p.dir == nil {
		return EEXIST
	}
	_, e = tandemMake(&p, S_IFDIR|mode&0o1777&^tandemFiles.umask)
	return e
}

func tandemSymlink(target unsafe.Pointer, dirfd int, path unsafe.Pointer) Errno {
	to := tandemText(target)
	if to == "" {
		return ENOENT
	}
	p, e := tandemLocate(true, false, dirfd, tandemText(path), tandemLinksNever)
	if e != 0 {
		return e
	}
	if p.slash && p.node == nil {
		return ENOENT
	}
	if p.dir == nil {
		return EEXIST
	}
	n, e := tandemMake(&p, S_IFLNK|0o777)
	if e == 0 {
		n.target, n.size = to, int64(len(to))
	}
	return e
}

func tandemLink(fromfd int, from unsafe.Pointer, tofd int, to unsafe.Pointer, flags int) Errno {
	p, e := tandemLocate(true, false, tofd, tandemText(to), tandemLinksNever)
	old, oldError := tandemWalkNoted(fromfd, tandemText(from), tandemFollowing(flags&tandemFollow == 0))
	switch {
	case oldError != 0:
		return oldError
	case old.node == nil:
		return ENOENT
	case e != 0:
		return e
	case p.node != nil:
		return EEXIST
	case p.slash:
		return ENOENT
	case old.node.is(S_IFDIR):
		return EPERM
	}
	if e := p.parent(); e != 0 {
		return e
	}
	tandemNoted(accessWrite, old.node.number)
	p.begin("link", &old)
	defer tandemFinish()
	old.node.links++
	old.node.changed = tandemNow()
	p.put(old.node)
	return 0
}

func tandemUnlink(dirfd int, path unsafe.Pointer, flags int) Errno {
	name := tandemText(path)
	p, e := tandemLocate(true, false, dirfd, name, tandemLinksNever)
	directory := flags&tandemRemoveDirectory != 0
	switch {
	case e != 0:
		return e
	case p.dir == nil && directory:
		return tandemDotError(name)
	case p.dir == nil:
		return EISDIR
	case p.node == nil:
		return ENOENT
	case directory && !p.node.is(S_IFDIR):
		return ENOTDIR
	case !directory && p.node.is(S_IFDIR):
		return EISDIR
	case !directory && p.slash:
		return ENOTDIR
	}
	if directory {
		if e := p.node.vacant(); e != 0 {
			return e
		}
	}
	if e := p.parent(); e != 0 {
		return e
	}
	p.begin("remove", nil)
	defer tandemFinish()
	p.remove()
	return 0
}

// tandemDotError is for removing what has no name.
func tandemDotError(path string) Errno {
	for path != "" && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	switch {
	case path == "":
		return EBUSY
	case len(path) >= 2 && path[len(path)-2:] == "..":
		return ENOTEMPTY
	}
	return EINVAL
}

// remove takes what is at a place away.
func (p *tandemPlace) remove() {
	n := p.node
	tandemNoted(accessWrite, n.number)
	p.put(nil)
	if n.is(S_IFDIR) {
		n.links = 0
	} else {
		n.links--
	}
	n.changed = tandemNow()
	n.unused()
}

// vacant checks that a directory is empty.
func (n *tandemNode) vacant() Errno {
	tandemNoted(accessRead, n.number)
	if e := n.list(); e != 0 {
		return e
	}
	for _, entry := range n.entries {
		if entry.node != nil {
			return ENOTEMPTY
		}
	}
	return 0
}

func tandemRename(fromfd int, from unsafe.Pointer, tofd int, to unsafe.Pointer, flags int) Errno {
	if flags&^tandemNoReplace != 0 {
		return EINVAL // as on file systems that cannot do it
	}
	p, e := tandemLocate(true, false, tofd, tandemText(to), tandemLinksNever)
	old, oldError := tandemWalkNoted(fromfd, tandemText(from), tandemLinksNever)
	switch {
	case oldError != 0:
		return oldError
	case e != 0:
		return e
	case old.dir == nil || p.dir == nil:
		return EBUSY
	case old.node == nil:
		return ENOENT
	case p.node != nil && flags&tandemNoReplace != 0:
		return EEXIST
	case !old.node.is(S_IFDIR) && (old.slash || p.slash):
		return ENOTDIR
	case old.node == p.node:
		return 0
	case p.dir.below(old.node):
		return EINVAL
	case p.node != nil && old.dir.below(p.node):
		return ENOTEMPTY
	}
	if e := p.replaceable(old.node); e != 0 {
		return e
	}
	if e := old.parent(); e != 0 {
		return e
	}
	if e := p.parent(); e != 0 {
		return e
	}
	p.begin("rename", &old)
	defer tandemFinish()
	if p.node != nil {
		p.remove()
	}
	node := old.node
	old.put(nil)
	p.put(node)
	node.changed = tandemNow()
	return 0
}

// replaceable checks that a node may take the place of what is there.
func (p *tandemPlace) replaceable(by *tandemNode) Errno {
	switch {
	case p.node == nil:
		return 0
	case by.is(S_IFDIR) && !p.node.is(S_IFDIR):
		return ENOTDIR
	case !by.is(S_IFDIR) && p.node.is(S_IFDIR):
		return EISDIR
	case by.is(S_IFDIR):
		return p.node.vacant()
	}
	return 0
}

// below reports whether a directory is another one or inside it.
func (n *tandemNode) below(other *tandemNode) bool {
	for ; n != other; n = n.parent {
		if n == tandemFiles.root || n.parent == nil {
			return false
		}
	}
	return true
}
