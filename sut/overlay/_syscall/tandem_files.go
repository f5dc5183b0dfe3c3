// The files of a program being checked. It sees those of the machine, and what
// it changes it sees too, but nobody else does: an execution has a file system of
// its own, in its own memory, that begins as a view of the machine's. Whatever is
// looked up is loaded into it; changes stay in it. Since it is memory like any
// other, it is as it was at the start of the next execution, whatever way
// executions are kept apart.
//
// There is one thread, and goroutines switch at points only, so nothing here
// needs a lock. Maps are avoided: making one draws a random number from the
// goroutine that happens to come first.

package syscall

import "unsafe"

const (
	tandemBlockSize   = 4096
	tandemMaxFileSize = 16 << 30
	tandemMaxSymlinks = 40
	tandemMaxName     = 255
	tandemMaxPath     = 4096
)

// tandemNode is a file: an inode.
type tandemNode struct {
	number   uint64 // inode number, and name of its content or list of entries in the log
	mode     uint32 // type and permissions
	links    uint32
	uid, gid uint32
	device   uint64 // of a device, its number
	size     int64
	accessed Timespec
	modified Timespec
	changed  Timespec
	target   string // of a symbolic link

	host     string // where the machine has it; empty: only the execution does
	hostFile [2]uint64
	onHost   bool // the content is the machine's, read through reader
	reader   int  // descriptor; -1: none is open
	blocks   []*[tandemBlockSize]byte

	parent  *tandemNode // of a directory
	name    string
	entries []tandemEntry // what is known of a directory, by name
	listed  bool          // that is everything

	// Where a program may crash: see tandem_disk.go.
	place      string // where it is, or was last, if the execution has put it there
	altered    bool   // it is not as on the machine, apart from its content and number of links
	linksThere uint32 // how many links the machine says that it has
	synced     uint64 // the last change to it that is durable
	record     int    // 1 + where it is in the disk that is being written
	looked     bool   // package initialisation has looked at it

	opened int   // open file descriptions
	output int   // 1 or 2: what is written goes to the checker
	lock   int32 // flock: -1 exclusive, otherwise the number of shared ones
	mapped bool  // since before main
	views  []tandemView
	socket *tandemEndpoint // that is bound to it
}

// tandemEntry is an entry of a directory that was looked up; without a node there
// is no such file.
type tandemEntry struct {
	name    string
	node    *tandemNode
	changed bool // it was looked up, and then something else came there
}

// tandemDescription is an open file description.
type tandemDescription struct {
	node    *tandemNode
	number  uint64 // its name in the log
	flags   int    // access mode and status
	offset  int64
	refs    int // descriptors
	lock    int32
	listing []tandemEntry // of a directory being read
}

// tandemFiles is the state of the file system and of the descriptors. A virtual
// descriptor has a duplicate of null in the kernel, so that its number is taken.
var tandemFiles struct {
	null        int
	table       []*tandemDescription
	root        *tandemNode
	cwd         *tandemNode
	umask       uint32
	uid, gid    uint32
	linked      []*tandemNode // those of the machine that have several names
	free        []*[tandemBlockSize]byte
	used, limit int64 // bytes written
	printed     [3]int64
	numbers     uint64 // given before main
	logging     bool   // lookups are accesses
	programs    *tandemNode
	viewed      []*tandemNode // those that are mapped
}

//go:linkname tandemServes
func tandemServes() bool

//go:linkname tandemFilePoint
func tandemFilePoint(op uint8, object uint64, state *int32)

//go:linkname tandemFileAccess
func tandemFileAccess(op, kind uint8, object uint64, state *int32)

//go:linkname tandemMarkFile
func tandemMarkFile(fd int, plain bool)

//go:linkname tandemFreshName
func tandemFreshName() uint64

//go:linkname tandemHash
func tandemHash(p []byte) uint64

//go:linkname tandemTime
func tandemTime() (sec int64, nsec int32)

//go:linkname tandemSettings
func tandemSettings() (disk int64, hostname string)

//go:linkname tandemFillRandom
func tandemFillRandom(p []byte)

// It runs before anything of the program does.
var _ = tandemFilesInit()

func tandemFilesInit() bool {
	if !tandemServes() {
		return false
	}
	f := &tandemFiles
	name := [...]byte{'/', 'd', 'e', 'v', '/', 'n', 'u', 'l', 'l', 0}
	fd, _, e := RawSyscall6(SYS_OPENAT, tandemHere, uintptr(unsafe.Pointer(&name)), O_RDONLY|O_CLOEXEC, 0,
		0, 0)
	if e != 0 {
		panic("tandem: /dev/null cannot be opened")
	}
	f.null = int(fd)
	mask, _, _ := RawSyscall6(SYS_UMASK, 0o022, 0, 0, 0, 0, 0)
	f.umask = uint32(mask)
	uid, _, _ := RawSyscall6(SYS_GETEUID, 0, 0, 0, 0, 0, 0)
	gid, _, _ := RawSyscall6(SYS_GETEGID, 0, 0, 0, 0, 0, 0)
	f.uid, f.gid = uint32(uid), uint32(gid)
	f.limit, _ = tandemSettings()
	f.root, _ = tandemFromHost("/", true)
	f.root.parent = f.root
	tandemOpenStandard()
	tandemFindDiskEarly()
	return true
}

// tandemHere is AT_FDCWD.
const tandemHere = ^uintptr(99)

// tandemOpenStandard makes virtual files of standard input, a file, and of
// standard output and error, which are like pipes.
func tandemOpenStandard() {
	f := &tandemFiles
	f.table = make([]*tandemDescription, 3, 64)
	var st Stat_t
	RawSyscall6(SYS_FSTAT, 0, uintptr(unsafe.Pointer(&st)), 0, 0, 0, 0)
	in := &tandemNode{number: 1, mode: st.Mode, device: st.Rdev, size: st.Size, links: 1, reader: 0,
		onHost: true, opened: 1}
	f.table[0] = &tandemDescription{node: in, number: 2, refs: 1}
	tandemMarkFile(0, true)
	for fd := 1; fd <= 2; fd++ {
		out := &tandemNode{number: uint64(2*fd + 1), mode: S_IFIFO | 0o600, links: 1, reader: -1, opened: 1,
			output: fd}
		f.table[fd] = &tandemDescription{node: out, number: uint64(2*fd + 2), refs: 1, flags: O_WRONLY}
	}
	for fd := range f.table {
		f.table[fd].node.stamp()
	}
}

// stamp sets all times of a node to now.
func (n *tandemNode) stamp() {
	n.modified = tandemNow()
	n.accessed, n.changed = n.modified, n.modified
}

func tandemNow() Timespec {
	sec, nsec := tandemTime()
	return Timespec{Sec: sec, Nsec: int64(nsec)}
}

func (n *tandemNode) is(kind uint32) bool { return n.mode&S_IFMT == kind }

// tandemNumber names something new after the goroutine that makes it.
func tandemNumber() uint64 {
	if !tandemIsOn() {
		tandemFiles.numbers++
		return tandemNamed(tandemFiles.numbers, "")
	}
	return fileObject | tandemFreshName()>>2
}

// tandemNamed is the name in the log of what another object has under a name.
func tandemNamed(of uint64, name string) uint64 {
	h := tandemHash(unsafe.Slice(unsafe.StringData(name), len(name)))
	h ^= of * 0x9e3779b97f4a7c15
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9
	return fileObject | (h^(h>>27))>>2
}

// object is the name in the log of an entry of a directory.
func (n *tandemNode) object(name string) uint64 { return tandemNamed(n.number, name) }

// tandemNoted records an access that the running transition makes beside the one
// of its point.
func tandemNoted(kind uint8, object uint64) {
	op := uint8(opFileRead)
	if kind != accessRead {
		op = opFileWrite
	}
	tandemFileAccess(op, kind, object, nil)
}

// tandemMay reports whether the program may read (4), write (2) or search (1) a file.
func tandemMay(n *tandemNode, want uint32) bool {
	f := &tandemFiles
	switch bits := n.mode & 0o777; {
	case f.uid == 0:
		return want&1 == 0 || n.is(S_IFDIR) || bits&0o111 != 0
	case f.uid == n.uid:
		return bits>>6&want == want
	case f.gid == n.gid:
		return bits>>3&want == want
	default:
		return bits&want == want
	}
}

// tandemText is a string of C. Its pointer must be one: the stack may move.
func tandemText(p unsafe.Pointer) string {
	n := 0
	for n < tandemMaxPath+1 && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
