package syscall

import "unsafe"

// tandemPlace is where a path leads: a name in a directory, and what is there.
type tandemPlace struct {
	dir   *tandemNode // nil: the path ends in . or .. or is the root
	name  string
	node  *tandemNode // nil: there is nothing
	slash bool        // the path ends in a slash: it is about a directory
}

// object is what the operation on a path is on, for the log.
func (p *tandemPlace) object() uint64 {
	switch {
	case p.dir != nil:
		return p.dir.object(p.name)
	case p.node != nil:
		return p.node.number
	}
	return tandemFiles.root.number
}

// tandemLocate walks a path, after the point of the operation that needs it: one
// that changes what is there, or that does if there is nothing yet.
func tandemLocate(changes, creates bool, dirfd int, path string, links uint8) (tandemPlace, Errno) {
	if tandemIsOn() {
		p, _ := tandemWalk(dirfd, path, links)
		op := uint8(opFileRead)
		if changes || creates && p.node == nil {
			op = opFileWrite
		}
		tandemFilePoint(op, p.object(), nil)
	}
	return tandemWalkNoted(dirfd, path, links)
}

// tandemWalkNoted walks a path, and records what it looks at.
func tandemWalkNoted(dirfd int, path string, links uint8) (tandemPlace, Errno) {
	tandemFiles.logging = true
	p, e := tandemWalk(dirfd, path, links)
	tandemFiles.logging = false
	return p, e
}

// Whether a symbolic link at the end of a path is followed.
const (
	tandemLinksNever   = iota // the call is about the name itself, also before a slash
	tandemLinksAtSlash        // only before a slash
	tandemLinksAlways

	// | one of them: what is made is no directory, so that no slash may follow.
	tandemCreating = 1 << 4
)

// tandemFollowing is tandemLinksAlways, unless something speaks against it.
func tandemFollowing(not bool) uint8 {
	if not {
		return tandemLinksAtSlash
	}
	return tandemLinksAlways
}

// tandemWalk finds where a path leads. With an error it returns how far it came.
func tandemWalk(dirfd int, path string, links uint8) (p tandemPlace, e Errno) {
	if len(path) >= tandemMaxPath {
		return p, ENAMETOOLONG
	}
	if p.node, e = tandemStartOf(dirfd, path); e != 0 {
		return p, e
	}
	for followed := 0; ; {
		name, rest := tandemCut(path)
		if name == "" {
			return p, p.asDirectory(links)
		}
		dir := p.node
		dir.noteSearch()
		if e := tandemSearchable(dir); e != 0 {
			return p, e
		}
		if links&tandemCreating != 0 && rest != "" && !tandemGoesOn(rest) && name != "." && name != ".." {
			return p, EISDIR
		}
		if p, e = tandemEnter(dir, name); e != 0 {
			return p, e
		}
		path = rest
		if p.node != nil && p.node.is(S_IFLNK) && tandemFollows(path, links) {
			if followed++; followed > tandemMaxSymlinks {
				return p, ELOOP
			}
			path = p.node.target + path
			p = tandemPlace{node: dir}
			if path[0] == '/' {
				p.node = tandemFiles.root
			}
			continue
		}
		if path == "" {
			return p, 0
		}
	}
}

// tandemFollows reports whether a link is followed that has the given rest of
// the path behind it.
func tandemFollows(rest string, links uint8) bool {
	if rest == "" {
		return links&^tandemCreating == tandemLinksAlways
	}
	return tandemGoesOn(rest) || links != tandemLinksNever
}

// tandemGoesOn reports whether there are more names in the rest of a path.
func tandemGoesOn(rest string) bool {
	name, _ := tandemCut(rest)
	return name != ""
}

// asDirectory is for a path that ends in a slash. Calls about the name itself have
// their own errors for it.
func (p *tandemPlace) asDirectory(links uint8) Errno {
	p.slash = true
	if links != tandemLinksNever && p.node != nil && !p.node.is(S_IFDIR) {
		return ENOTDIR
	}
	return 0
}

// noteSearch records that a walk looks at the permissions of a directory. The
// superuser may search every one.
func (n *tandemNode) noteSearch() {
	if f := &tandemFiles; n != nil && f.logging && f.uid != 0 {
		tandemNoted(accessRead, permissionsObject(n))
	}
}

func permissionsObject(n *tandemNode) uint64 { return tandemNamed(n.number, "/permissions") }

func tandemSearchable(dir *tandemNode) Errno {
	switch {
	case dir == nil:
		return ENOENT
	case !dir.is(S_IFDIR):
		return ENOTDIR
	case !tandemMay(dir, 1):
		return EACCES
	}
	return 0
}

// tandemStartOf is the directory where the walk of a path begins.
func tandemStartOf(dirfd int, path string) (*tandemNode, Errno) {
	switch {
	case path == "":
		return nil, ENOENT
	case path[0] == '/':
		return tandemFiles.root, 0
	case uintptr(dirfd) == tandemHere:
		if tandemFiles.logging {
			tandemNoted(accessRead, workingObject())
		}
		return tandemWorking(), 0
	}
	d := tandemDescribed(dirfd)
	if d == nil {
		return nil, EBADF
	}
	if !d.node.is(S_IFDIR) {
		return nil, ENOTDIR
	}
	return d.node, 0
}

// tandemWorking is the working directory.
func tandemWorking() *tandemNode {
	f := &tandemFiles
	if f.cwd == nil {
		buffer := make([]byte, tandemMaxPath)
		n, _, e := RawSyscall6(SYS_GETCWD, uintptr(unsafe.Pointer(&buffer[0])), tandemMaxPath, 0, 0, 0, 0)
		if e != 0 {
			tandemRefuseCall("the working directory, which cannot be found out")
		}
		f.cwd = f.root // where the walk begins
		p, _ := tandemWalk(0, string(buffer[:n-1]), tandemLinksAlways)
		f.cwd = p.node
	}
	return f.cwd
}

// tandemCut takes the first name off a path; the rest begins with its slash.
func tandemCut(path string) (name, rest string) {
	for path != "" && path[0] == '/' {
		path = path[1:]
	}
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i:]
		}
	}
	return path, ""
}

// tandemEnter looks a name up in a directory.
func tandemEnter(dir *tandemNode, name string) (tandemPlace, Errno) {
	switch {
	case name == ".":
		return tandemPlace{node: dir}, 0
	case name == "..":
		return tandemPlace{node: dir.parent}, 0
	case len(name) > tandemMaxName:
		return tandemPlace{}, ENAMETOOLONG
	}
	if tandemFiles.logging {
		tandemNoted(accessRead, dir.object(name))
	}
	node, e := dir.lookup(name)
	return tandemPlace{dir: dir, name: name, node: node}, e
}

func (n *tandemNode) lookup(name string) (*tandemNode, Errno) {
	i, found := n.find(name)
	if found {
		return n.entries[i].node, 0
	}
	if n.host == "" || n.listed {
		return nil, 0
	}
	node, e := tandemLoad(n, name)
	if e != 0 {
		return nil, e
	}
	n.insert(i, name, node)
	return node, 0
}

// find returns where the entry of a name is or would be.
func (n *tandemNode) find(name string) (at int, found bool) {
	from, to := 0, len(n.entries)
	for from < to {
		if middle := (from + to) / 2; n.entries[middle].name < name {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, from < len(n.entries) && n.entries[from].name == name
}

func (n *tandemNode) insert(at int, name string, node *tandemNode) {
	n.entries = append(n.entries, tandemEntry{})
	copy(n.entries[at+1:], n.entries[at:])
	n.entries[at] = tandemEntry{name: name, node: node}
	if node != nil && node.is(S_IFDIR) {
		node.parent, node.name = n, name
	}
}

// set puts a node, or nothing, under a name.
func (n *tandemNode) set(name string, node *tandemNode) {
	at, found := n.find(name)
	if !found {
		n.insert(at, name, node)
	}
	n.entries[at].node, n.entries[at].changed = node, true
	if node != nil && node.is(S_IFDIR) {
		node.parent, node.name = n, name
	}
}

// path is where a directory is. A directory that was removed has none.
func (n *tandemNode) path() (string, bool) {
	if n == tandemFiles.root {
		return "/", true
	}
	path := ""
	for n != tandemFiles.root {
		if n.links == 0 {
			return "", false
		}
		path = "/" + n.name + path
		n = n.parent
	}
	return path, true
}
