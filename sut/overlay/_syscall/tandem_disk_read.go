package syscall

import "unsafe"

// How the disk of a schedule gets into an execution. The checker has looked whether it is one.

//go:linkname tandemSetDisk
func tandemSetDisk(find func())

func init() { tandemSetDisk(tandemFindDisk) }

// tandemDiskReader reads the records of a disk.
type tandemDiskReader struct {
	rest  []byte
	files []*tandemNode // of the records so far, to which links refer; nil where nothing is
}

// tandemFindDisk puts the disk of the schedule in place at main. It cannot if package
// initialisation would have found something else with it.
func tandemFindDisk() {
	b := tandemDiskOfSchedule()
	if b == nil || tandemDisk.found {
		return
	}
	why, fits := "", !tandemDisk.early
	if fits {
		why, fits = tandemReplaceDisk(b, true)
	}
	if !fits {
		tandemExchange(exchangeAnew, 0, nil, 0, []byte(why))
	}
}

// tandemFindDiskEarly puts it in place before package initialisation, if it is there by then.
func tandemFindDiskEarly() {
	b := tandemDiskOfSchedule()
	if b == nil {
		return
	}
	if why, fits := tandemReplaceDisk(b, false); !fits {
		panic("tandem: " + why)
	}
	tandemDisk.found = true
}

// tandemDiskOfSchedule is the disk that the checker has written; nil: none.
func tandemDiskOfSchedule() []byte {
	length := int64(0)
	if !tandemMayCrash() || !tandemOwnFile(SYS_PREAD64,
		unsafe.Slice((*byte)(unsafe.Pointer(&length)), 8), diskFound) || length == 0 {
		return nil
	}
	b := make([]byte, length)
	if !tandemOwnFile(SYS_PREAD64, b, diskFound+8) {
		panic("tandem: the disk cannot be read")
	}
	return b
}

// tandemReplaceDisk has the files be those of a disk. It does not fit if the machine lacks
// something, which it then names, or if that would change what was looked at.
func tandemReplaceDisk(b []byte, looked bool) (why string, fits bool) {
	r := &tandemDiskReader{rest: b[1:]}
	for len(r.rest) > 0 {
		kind := r.rest[0]
		r.rest = r.rest[1:]
		path := r.text()
		if path == "/" {
			tandemFiles.root.read(r)
			r.files = append(r.files, tandemFiles.root)
			continue
		}
		p, seen, e := tandemPlaceOnDisk(path)
		if e != 0 {
			return path + " of the disk is in a directory that the machine does not have: " + e.Error(), false
		}
		why, unseen := r.record(kind, &p, path, seen)
		if why != "" || looked && !unseen {
			return why, false
		}
	}
	return "", true
}

// tandemPlaceOnDisk finds a path, and whether something has looked it up before.
func tandemPlaceOnDisk(path string) (p tandemPlace, seen bool, e Errno) {
	last := len(path) - 1
	for path[last] != '/' {
		last--
	}
	dir := tandemFiles.root
	if last > 0 {
		if p, e = tandemWalk(0, path[:last], tandemLinksNever); e != 0 {
			return p, false, e
		}
		dir = p.node
	}
	// The machine may have changed since.
	switch {
	case dir == nil:
		return p, false, ENOENT
	case !dir.is(S_IFDIR):
		return p, false, ENOTDIR
	}
	name := path[last+1:]
	_, found := dir.find(name)
	node, e := dir.lookup(name)
	return tandemPlace{dir: dir, name: name, node: node}, found || dir.listed, e
}

// record puts in place what a record says. seen says that the place was looked up before: unseen is
// whether nobody can have noticed what has changed.
func (r *tandemDiskReader) record(
	kind byte, p *tandemPlace, path string, seen bool,
) (why string, unseen bool) {
	n := (*tandemNode)(nil)
	switch kind {
	case diskLink:
		n = r.files[r.number()]
	case diskFile:
		if n, why = r.file(p, path); why != "" {
			return why, false
		}
		n.read(r)
	}
	r.files = append(r.files, n)
	if n == p.node {
		return "", n == nil || !n.looked
	}
	if p.node != nil && p.node.is(S_IFDIR) {
		p.dir.links--
	}
	if n != nil && n.is(S_IFDIR) {
		p.dir.links++
	}
	if n != nil {
		n.place = path
	}
	p.dir.set(p.name, n)
	return "", !seen
}

// file is the file of a record, before what is said of it was read.
func (r *tandemDiskReader) file(p *tandemPlace, path string) (n *tandemNode, why string) {
	// What is there already is kept, if that is the one: others may have it open.
	host := (&tandemDiskReader{rest: r.rest}).host()
	switch {
	case host == "":
		n = &tandemNode{number: tandemNamed(3, path), reader: -1, place: path}
		tandemFiles.used += tandemBlockSize
	case p.node != nil && p.node.host == host:
		n = p.node
	default:
		found, e := tandemFromHost(host, false)
		if e != 0 {
			return nil, path + " of the disk was " + host + ", which the machine does not have: " + e.Error()
		}
		n = found
	}
	return n, ""
}

// host is where the machine has the file of which the reader is at the beginning.
func (r *tandemDiskReader) host() string {
	for range 6 {
		r.number()
	}
	return r.text()
}

// read reads what a file is like.
func (n *tandemNode) read(r *tandemDiskReader) {
	n.altered = true
	n.mode, n.uid, n.gid = uint32(r.number()), uint32(r.number()), uint32(r.number())
	if links := uint32(r.number()); !n.is(S_IFDIR) {
		n.links = links
	} else if n.links == 0 {
		n.links = 2
	}
	n.modified.Sec, n.modified.Nsec = r.signed(), int64(r.number())
	n.accessed, n.changed = n.modified, n.modified
	r.text() // host
	switch {
	case n.is(S_IFLNK):
		n.target = r.text()
		n.size = int64(len(n.target))
	case n.is(S_IFREG) && r.number() != 0:
		n.readContent(r)
	}
}

// readContent reads what is in a file.
func (n *tandemNode) readContent(r *tandemDiskReader) {
	n.drop()
	n.onHost, n.size, n.blocks = false, int64(r.number()), nil
	for {
		from := int64(r.number())
		if from == 0 {
			return
		}
		n.readRun(r, from-1, int64(r.number()))
	}
}

// readRun reads some blocks, from one on.
func (n *tandemNode) readRun(r *tandemDiskReader, from, count int64) {
	for i := from; i < from+count; i++ {
		for int64(len(n.blocks)) <= i {
			n.blocks = append(n.blocks, nil)
		}
		size := max(0, min(tandemBlockSize, n.size-i*tandemBlockSize))
		n.blocks[i] = new([tandemBlockSize]byte)
		copy(n.blocks[i][:], r.rest[:size])
		r.rest = r.rest[size:]
		tandemFiles.used += tandemBlockSize
	}
}

// number reads a number that is not negative, signed one that may be, and text a text.
func (r *tandemDiskReader) number() (x uint64) {
	for shift := 0; ; shift += 7 {
		b := r.rest[0]
		r.rest = r.rest[1:]
		if x |= uint64(b&0x7f) << shift; b < 0x80 {
			return x
		}
	}
}

func (r *tandemDiskReader) signed() int64 {
	x := r.number()
	return int64(x>>1) ^ -int64(x&1)
}

func (r *tandemDiskReader) text() string {
	n := r.number()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
