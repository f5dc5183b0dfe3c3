package runtime

import (
	"internal/stringslite"
	"unsafe"
)

// Preemption sealing (Ball, Burckhardt, Coons, Musuvathi, Qadeer, "Preemption
// Sealing for Efficient Concurrency Testing", TACAS 2010): whether a goroutine
// may be preempted at an operation depends on the package that performs it.

// What the package of a program counter means for the operation below it.
const (
	callerUnknown = iota
	callerRuntime // part of the operation itself: look further up
	callerSystem  // part of the operation if that is on a socket or a file
	callerSocket  // part of the operation if that is on a socket
	callerFile    // part of the operation if that is on a file
	callerTime    // part of the operation if that is on a timer
	callerSealed
	callerOpen
	callerInside  // part of something that has its own point, or needs none
	callerHidden  // what it does cannot be told from its doing nothing: sync.Pool
	callerAtomic  // package sync/atomic
	callerValue   // its Value, whose operations consist of several
	callerChecker // not the program at all, but what was added to it

	callerPrivate = 1 << 7 // | one of the above: its atomic operations are part of something else
)

const (
	tandemCallerCache  = 1 << 13
	tandemCallerProbes = 4
)

// tandemPatterns is a list of packages: import paths, of which one that ends in
// /... stands for the packages below it too.
type tandemPatterns struct {
	list [64]string
	n    int
}

var tandemCallers struct {
	open    tandemPatterns // goroutines may be preempted there
	private tandemPatterns // see callerPrivate
	// cache is in memory that is not put back after an execution: what a program
	// counter means does not change.
	cache *[tandemCallerCache]tandemCaller
}

// tandemCaller is a program counter, shifted to the left, and its class.
type tandemCaller uintptr

const tandemClassBits = 8

// read takes patterns that are separated by commas.
func (p *tandemPatterns) read(list string) {
	for start, i := 0, 0; i <= len(list); i++ {
		if i < len(list) && list[i] != ',' {
			continue
		}
		if i > start {
			if p.n == len(p.list) {
				throw("tandem: too many package patterns")
			}
			p.list[p.n] = list[start:i]
			p.n++
		}
		start = i + 1
	}
}

func (p *tandemPatterns) match(pkg string) bool {
	for i := range p.n {
		if tandemMatches(p.list[i], pkg) {
			return true
		}
	}
	return false
}

// tandemFindCaller sets who performs the pending operation of the current goroutine, and
// whether it is sealed.
func tandemFindCaller(gp *g) {
	t := &gp.tandem
	if t.op == opPeerTimer || t.op == opPass { // not the program
		t.caller, t.open, t.sealed, t.hidden, t.direct = 0, 0, false, false, false
		return
	}
	parts := tandemParts(t.op)
	pc, fp, last, from := t.caller, t.frame, t.caller, uintptr(0)
	t.direct = true
	atomic := t.op >= opLoad && t.op <= opUpdate
	for {
		class := tandemClass(pc)
		if atomic && class != callerAtomic && class != callerValue && class != callerChecker {
			if atomic = false; class&callerPrivate != 0 {
				t.hidden = true // it only orders accesses to memory
				return
			}
		}
		class &^= callerPrivate
		t.direct = t.direct && class != callerValue
		inside := parts>>class&1 != 0
		if inside && fp == 0 { // pc is in goexit
			class, pc = t.origin, last
		}
		if !inside || fp == 0 {
			t.caller = pc
			tandemSeal(gp, class, from, fp)
			tandemDetailArrival(gp)
			return
		}
		last, from = pc, fp
		pc, fp = tandemReturnAddress(gp, fp), *(*uintptr)(unsafe.Pointer(fp))
	}
}

// tandemSeal sets whether the pending operation is sealed, which a caller of a class performs. fp
// is the frame of that caller, and from the frame of what it called, or 0 if that is the operation
// itself.
func tandemSeal(gp *g, class uint8, from, fp uintptr) {
	t := &gp.tandem
	t.sealed, t.hidden = class != callerOpen, class == callerHidden
	t.direct = t.direct && !t.sealed
	switch class {
	case callerOpen:
		t.open, t.call = t.caller, 0
		if from != 0 && tandemLeavesProgram(t.op) { // what it called may do more, before it returns
			tandemNoteCall(gp, from)
		}
	case callerSealed, callerFile:
		first := false
		t.open, first = tandemNoteCall(gp, fp)
		t.sealed = !first
	case callerHidden:
	default:
		t.open = tandemOpenCaller(gp, fp)
	}
}

// tandemLeavesProgram reports whether an operation is a system call: what makes it is rarely
// that alone.
func tandemLeavesProgram(op uint8) bool {
	return tandemIsSocketOp(op) || op >= opFileRead && op <= opSignalSend || op == opGoOn
}

// tandemParts is the set of the classes that are part of an operation.
func tandemParts(op uint8) uint32 {
	parts := uint32(1<<callerRuntime | 1<<callerAtomic | 1<<callerValue | 1<<callerChecker)
	switch {
	case tandemIsSocketOp(op) || op == opGoOn:
		parts |= 1<<callerSystem | 1<<callerSocket | 1<<callerFile
	case tandemLeavesProgram(op) || op == opPublish || op == opState:
		parts |= 1<<callerSystem | 1<<callerFile
	case op == opTimer || op == opReadClock:
		parts |= 1 << callerTime
	}
	return parts
}

// tandemOrigin is the class of the caller of a go statement at pc: if it is part of
// an operation (WaitGroup.Go), then so is what it starts.
func tandemOrigin(parent *g, pc uintptr) uint8 {
	class, fp := tandemClass(pc)&^callerPrivate, parent.sched.bp
	if getg() == parent {
		return class // started by package initialisation: it is unknown by whom
	}
	for class == callerRuntime && fp != 0 {
		if fp = *(*uintptr)(unsafe.Pointer(fp)); fp != 0 {
			class = tandemClass(tandemReturnAddress(parent, fp)) &^ callerPrivate
		}
	}
	return class
}

func tandemClass(pc uintptr) uint8 {
	for i := range uintptr(tandemCallerProbes) {
		e := tandemCallers.cache[(pc^pc>>12+i)%tandemCallerCache]
		if uintptr(e>>tandemClassBits) == pc {
			return uint8(e)
		}
		if e == 0 {
			break
		}
	}
	return tandemNewClass(pc)
}

// tandemNewClass finds out the class of a program counter, and remembers it: if there is
// room nowhere else, in place of another one.
func tandemNewClass(pc uintptr) uint8 {
	class := tandemClassify(pc)
	free := &tandemCallers.cache[(pc^pc>>12)%tandemCallerCache]
	for i := range uintptr(tandemCallerProbes) {
		if e := &tandemCallers.cache[(pc^pc>>12+i)%tandemCallerCache]; *e == 0 {
			free = e
			break
		}
	}
	*free = tandemCaller(pc<<tandemClassBits | uintptr(class))
	return class
}

func tandemClassify(pc uintptr) uint8 {
	f := findfunc(pc - 1)
	if !f.valid() {
		return callerSealed
	}
	name := funcname(f)
	pkg := tandemPackage(name)
	if tandemCallers.open.match(pkg) {
		return callerOpen
	}
	if pkg == "runtime" || pkg == "syscall" {
		if file, _ := funcline1(f, pc-1, false); tandemOwnFile(file) {
			return callerChecker
		}
	}
	class := tandemClassifyLibrary(name, pkg)
	if class != callerAtomic && class != callerValue && tandemCallers.private.match(pkg) {
		class |= callerPrivate
	}
	return class
}

// tandemOwnFile reports whether a file of these two packages was added to them.
func tandemOwnFile(file string) bool {
	for i := len(file) - 1; i >= 0; i-- {
		if file[i] == '/' {
			return stringslite.HasPrefix(file[i+1:], "tandem_")
		}
	}
	return false
}

func tandemClassifyLibrary(name, pkg string) uint8 {
	switch {
	case stringslite.HasPrefix(name, "sync.(*Pool)"):
		return callerHidden
	case stringslite.HasPrefix(name, "io.(*pipe)"), stringslite.HasPrefix(name, "io.(*onceError)"):
		return callerInside // who reads or writes waits for the other end anyway
	}
	switch pkg {
	case "internal/sync":
		if stringslite.HasPrefix(name, "internal/sync.(*HashTrieMap") {
			return callerInside // its locks are no business of the caller of sync.Map
		}
		return callerRuntime
	case "sync/atomic":
		if stringslite.HasPrefix(name, "sync/atomic.(*Value)") {
			return callerValue
		}
		return callerAtomic
	case "runtime", "sync", "context", "weak", "github.com/tandem-mc/tandem",
		"golang.org/x/sync/errgroup", "golang.org/x/sync/semaphore", "golang.org/x/sync/singleflight",
		"golang.org/x/time/rate":
		return callerRuntime
	case "time":
		return callerTime
	case "syscall", "internal/poll", "internal/syscall/unix":
		if tandemIsOfEnvironment(name) {
			// Variables of the environment are the program's: they are set and read by calls like
			// any others.
			return callerSealed
		}
		return callerSystem
	case "net":
		return callerSocket
	case "os", "io/fs", "io/ioutil", "path/filepath", "golang.org/x/sys/unix",
		// These read and write when and where they are told to: two fmt.Fprint to a connection
		// are two writes of the caller.
		"bufio", "bytes", "crypto/tls", "encoding/binary", "encoding/csv", "encoding/gob", "encoding/json",
		"encoding/xml",
		"fmt", "io", "log", "net/textproto", "strings", "text/template":
		return callerFile
	}
	switch {
	case stringslite.HasPrefix(pkg, "internal/runtime/"):
		return callerRuntime
	case stringslite.HasPrefix(pkg, "internal/"):
		// Such as the look at a setting when a timer is made.
		return callerInside
	}
	return callerSealed
}

// tandemIsOfEnvironment reports whether a function of package syscall sets or reads variables of
// the environment.
func tandemIsOfEnvironment(name string) bool {
	switch name {
	case "syscall.Getenv", "syscall.Setenv", "syscall.Unsetenv", "syscall.Clearenv", "syscall.Environ",
		"syscall.copyenv":
		return true
	}
	return false
}

// tandemPackage is the import path in the name of a function, as the linker writes it: dots of the
// last element are escaped.
func tandemPackage(name string) string {
	slash := 0
	for i := range len(name) {
		if name[i] == '[' { // type arguments have paths of their own
			break
		}
		if name[i] == '/' {
			slash = i
		}
	}
	for i := slash; i < len(name); i++ {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return name
}

// tandemMatches reports whether a pattern, whose path is written as in source, names a package,
// whose path is the linker's.
func tandemMatches(pattern, pkg string) bool {
	n, subtree := len(pattern), false
	if n > 4 && pattern[n-4:] == "/..." {
		n, subtree = n-4, true
	}
	at := 0
	for i := range n {
		c, size := tandemUnescape(pkg[at:])
		if size == 0 || c != pattern[i] {
			return false
		}
		at += size
	}
	return at == len(pkg) || subtree && pkg[at] == '/'
}

// tandemUnescape is the first byte that an escaped path stands for, and how many bytes it takes
// there; of an empty path, none. The linker escapes with a percent sign and two digits, and a
// percent sign itself, too (cmd/internal/objabi.PathToPrefix).
func tandemUnescape(path string) (c byte, size int) {
	switch {
	case path == "":
		return 0, 0
	case path[0] != '%' || len(path) < 3:
		return path[0], 1
	}
	for i := 1; i < 3; i++ {
		digit := path[i] - '0'
		if path[i] > '9' {
			digit = path[i]&^0x20 - 'A' + 10
		}
		c = c<<4 | digit
	}
	return c, 3
}
