package sut

import (
	"fmt"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Operation is a visible operation.
type Operation uint8

// The operations that have a name in Go. What people read of them, and of those without such a
// name, is in the table of operations. Methods and functions go by their own names there.
const (
	Begin          Operation = abi.OpStart
	Resume         Operation = abi.OpResume // goes on after having been blocked
	ChannelSend    Operation = abi.OpSend
	ChannelReceive Operation = abi.OpReceive
	ChannelClose   Operation = abi.OpClose
	ChannelLength  Operation = abi.OpLength
	Select         Operation = abi.OpSelect
	Lock           Operation = abi.OpLock
	TryLock        Operation = abi.OpTryLock
	Unlock         Operation = abi.OpUnlock
	ReadLock       Operation = abi.OpReadLock
	ReadUnlock     Operation = abi.OpReadUnlock
	WriteLock      Operation = abi.OpWriteLock
	WriteUnlock    Operation = abi.OpWriteUnlock
	WriteWait      Operation = abi.OpWriteWait // a writer waits for the readers to leave
	TryReadLock    Operation = abi.OpTryReadLock
	TryWriteLock   Operation = abi.OpTryWriteLock
	Add            Operation = abi.OpAdd
	Wait           Operation = abi.OpWait
	Reused         Operation = abi.OpReused // Wait, after an Add that should have come later
	CondWait       Operation = abi.OpCondWait
	CondSignal     Operation = abi.OpCondSignal
	Once           Operation = abi.OpOnce
	AtomicLoad     Operation = abi.OpLoad
	AtomicStore    Operation = abi.OpStore
	AtomicUpdate   Operation = abi.OpUpdate
	Yield          Operation = abi.OpYield
	MapRead        Operation = abi.OpMapRead
	MapWrite       Operation = abi.OpMapWrite
	Choose         Operation = abi.OpChoose
	Collect        Operation = abi.OpCollect
	Weak           Operation = abi.OpWeak
	SocketConnect  Operation = abi.OpConnect
	SocketBind     Operation = abi.OpBind // or listen
	NetworkFault   Operation = abi.OpFault
	// PeerTimer is whether the peers' time passes before the program's clock advances: 0 is no.
	PeerTimer      Operation = abi.OpPeerTimer
	TimePasses     Operation = abi.OpPass
	SocketWrite    Operation = abi.OpSocketWrite
	SocketRead     Operation = abi.OpSocketRead
	SocketTry      Operation = abi.OpSocketTry // reads or writes, and does not wait
	SocketShutdown Operation = abi.OpSocketShutdown
	SocketClose    Operation = abi.OpSocketClose
	PollWait       Operation = abi.OpPollWait
	// DescriptorClose is what package internal/poll does to close a connection.
	DescriptorClose Operation = abi.OpDescriptorClose
	Accept          Operation = abi.OpAccept
	Exit            Operation = abi.OpExit // returning from main, or os.Exit(0)
	Tick            Operation = abi.OpTick
	Timer           Operation = abi.OpTimer
	Advance         Operation = abi.OpAdvance // the clock, although goroutines could go on
	ReadClock       Operation = abi.OpReadClock
	SetTimer        Operation = abi.OpSetTimer
	FileRead        Operation = abi.OpFileRead // looks at a file, a directory or what is open
	FileWrite       Operation = abi.OpFileWrite
	FileSync        Operation = abi.OpFileSync  // fsync and the like, where the program may crash
	FileLock        Operation = abi.OpFileLock  // flock, exclusive
	FileShare       Operation = abi.OpFileShare // flock, shared
	SignalSend      Operation = abi.OpSignalSend
	SignalSet       Operation = abi.OpSignalSet
	SignalReceive   Operation = abi.OpSignalReceive
	SignalArrive    Operation = abi.OpSignalArrive // or not, as the last alternative
)

// Class sorts the operations for people.
type Class string

// The classes of operations.
const (
	ClassSynchronisation Class = "synchronisation" // all that is in no other class
	ClassChannel         Class = "channel"
	ClassLifetime        Class = "lifetime"
	ClassTimer           Class = "timer"
	ClassSocket          Class = "socket"
	ClassChoice          Class = "choice"
)

// naming is how the kind of the object comes into the name of an operation.
type naming uint8

const (
	short naming = iota // not at all
	// Only where the object has no name of its own: "Add to", "Add to wait group".
	asked
	always // "send on channel"
)

// operation is a row of the table.
type operation struct {
	verb   string
	object string // the kind of object that it is on; "": it has none that people know
	naming naming
	class  Class // "": synchronisation
	blocks bool  // who is blocked in it goes on with a Resume
	arms   bool  // see HasArms
}

// operations is the one table of all operations.
var operations = [abi.OpCount]operation{
	abi.OpNone:            {verb: "none"},
	abi.OpStart:           {verb: "start", class: ClassLifetime},
	abi.OpResume:          {verb: "resume"},
	abi.OpSend:            {"send on", "channel", always, ClassChannel, true, true},
	abi.OpReceive:         {"receive from", "channel", always, ClassChannel, true, true},
	abi.OpClose:           {"close", "channel", always, ClassChannel, false, false},
	abi.OpLength:          {"len of", "channel", always, ClassChannel, false, false},
	abi.OpSelect:          {"select", "channel", short, ClassChannel, true, true},
	abi.OpLock:            {verb: "Lock", object: "mutex"},
	abi.OpTryLock:         {verb: "TryLock", object: "mutex"},
	abi.OpUnlock:          {verb: "Unlock", object: "mutex"},
	abi.OpReadLock:        {verb: "RLock", object: "rwmutex"},
	abi.OpReadUnlock:      {verb: "RUnlock", object: "rwmutex"},
	abi.OpWriteLock:       {verb: "Lock", object: "rwmutex"},
	abi.OpWriteUnlock:     {verb: "Unlock", object: "rwmutex"},
	abi.OpWriteWait:       {verb: "Lock, waiting for the readers of", object: "rwmutex", naming: asked},
	abi.OpTryReadLock:     {verb: "TryRLock", object: "rwmutex"},
	abi.OpTryWriteLock:    {verb: "TryLock", object: "rwmutex"},
	abi.OpAdd:             {verb: "Add to", object: "wait group", naming: asked},
	abi.OpWait:            {verb: "Wait for", object: "wait group", naming: asked},
	abi.OpReused:          {verb: "Wait, returning late from", object: "wait group", naming: asked},
	abi.OpCondWait:        {verb: "Wait for", object: "condition", naming: asked, blocks: true},
	abi.OpCondSignal:      {verb: "Signal", object: "condition"},
	abi.OpOnce:            {verb: "Do", object: "once"},
	abi.OpLoad:            {verb: "atomic Load", object: "variable"},
	abi.OpStore:           {verb: "atomic Store", object: "variable"},
	abi.OpUpdate:          {verb: "atomic update", object: "variable"},
	abi.OpYield:           {verb: "Gosched"},
	abi.OpMapRead:         {verb: "read", object: "map"},
	abi.OpMapWrite:        {verb: "write", object: "map"},
	abi.OpChoose:          {verb: "choose", class: ClassChoice},
	abi.OpCollect:         {verb: "collect garbage"},
	abi.OpWeak:            {verb: "look at weak pointer"},
	abi.OpConnect:         {verb: "connect", class: ClassSocket},
	abi.OpSocketWrite:     {verb: "write to connection", class: ClassSocket},
	abi.OpSocketRead:      {verb: "read from connection", class: ClassSocket},
	abi.OpSocketShutdown:  {verb: "shut down connection", class: ClassSocket},
	abi.OpSocketClose:     {verb: "close", class: ClassSocket},
	abi.OpPollWait:        {verb: "wait for connection"},
	abi.OpExit:            {verb: "exit", class: ClassLifetime},
	abi.OpTick:            {verb: "clock"},
	abi.OpTimer:           {verb: "stop or reset timer", object: "timer", class: ClassTimer},
	abi.OpAdvance:         {verb: "clock"},
	abi.OpReadClock:       {verb: "read the clock", class: ClassTimer},
	abi.OpSetTimer:        {verb: "set timer", class: ClassTimer},
	abi.OpFileRead:        {verb: "read", object: "file"},
	abi.OpFileWrite:       {verb: "change", object: "file"},
	abi.OpFileSync:        {verb: "sync", object: "file"},
	abi.OpFileLock:        {verb: "lock", object: "file"},
	abi.OpFileShare:       {verb: "lock for reading", object: "file"},
	abi.OpSignalSend:      {verb: "send signal"},
	abi.OpSignalSet:       {verb: "set what signals do"},
	abi.OpSignalReceive:   {verb: "wait for signals"},
	abi.OpSignalArrive:    {verb: "arrival of a signal"},
	abi.OpAccept:          {verb: "accept connection"},
	abi.OpBufferWrite:     {verb: "write to connection"},
	abi.OpPollWrite:       {verb: "wait for room in connection"},
	abi.OpSocketTry:       {verb: "try connection"},
	abi.OpBind:            {verb: "bind or listen"},
	abi.OpDeadline:        {verb: "set deadline of connection"},
	abi.OpSendTo:          {verb: "send datagram"},
	abi.OpShort:           {verb: "choose how much to read or write"},
	abi.OpDescriptorUse:   {verb: "use connection"},
	abi.OpDescriptorClose: {verb: "close"},
	abi.OpFault:           {verb: "network"},
	abi.OpPeerTimer:       {verb: "timers of the peers"},
	abi.OpPass:            {verb: "time passes for the peers"},
	abi.OpPublish:         {verb: "publish"},
	abi.OpState:           {verb: "name the state"},
	abi.OpGoOn:            {verb: "go on"},
}

// row is that of the operation, or one that says that there is none.
func (o Operation) row() operation {
	if int(o) < len(operations) {
		return operations[o]
	}
	return operation{verb: fmt.Sprintf("operation %d", uint8(o))}
}

// String is the name of the operation, for people.
func (o Operation) String() string {
	if r := o.row(); r.naming != always {
		return r.verb
	}
	return o.On()
}

// Verb is the name of the operation before that of its object: "send on", of "send on channel 2".
func (o Operation) Verb() string { return o.row().verb }

// On is the name of the operation where its object has none: with the kind of the object, if
// something would be missing without it.
func (o Operation) On() string {
	r := o.row()
	if r.naming == short {
		return r.verb
	}
	return r.verb + " " + r.object
}

// Object is the kind of object that the operation is on, such as "mutex". It is empty where
// objects of the kind have no names for people.
func (o Operation) Object() string { return o.row().object }

// Class is what sort of operation it is.
func (o Operation) Class() Class {
	if class := o.row().class; class != "" {
		return class
	}
	return ClassSynchronisation
}

// Blocks reports whether a goroutine can be blocked in the operation, so that it goes on with a
// Resume when it was woken. In others it waits until they can be performed.
func (o Operation) Blocks() bool { return o.row().blocks }

// HasArms reports whether the operation has arms, each on a channel: what a pending one waits for,
// and would access, is in events of its own.
func (o Operation) HasArms() bool { return int(o) < len(operations) && operations[o].arms }
