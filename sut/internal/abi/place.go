package abi

// Limits of the places that a worker keeps.
const (
	MaxPlaces      = 1 << 5
	MaxTables      = 1 << 3
	MaxDescriptors = 1 << 10 // that are opened and closed in one execution
	PlaceBytes     = 1 << 26 // of the copies of all places
	NoPosition     = 1<<32 - 1
	// SpareFD is the first of the numbers of descriptors that were closed, and are still needed.
	SpareFD = 1 << 11
)

// SharedPlaces is about places: states of the program, in the middle of the last execution, from
// which the next one can begin. All of them are on the path of that execution.
type SharedPlaces struct {
	// Set by the checker.
	Area      uint64                // where the worker has mapped room for copies; it sets that
	SlotBytes uint64                // of each place in it
	Tables    uint64                // how many regions follow those of the program: memory beside it
	Active    uint32                // there are places, or are to be
	Resume    uint32                // 1 + the place at which the execution begins; 0: main.main
	Keeps     uint32                // how many of Keep there are
	Next      uint32                // the position of the first of them left, or NoPosition
	At        uint32                // which that is
	Keep      [MaxPlaces]SharedKeep // in ascending order of their positions

	// Set by the worker.
	Left    SharedLeft
	Resting uint32 // the memory is as the execution has left it
	// Places before this position do not count: something is not put back with the memory.
	Lost      uint32
	Faults    uint64    // of the process, if it has written no page that is in no region
	Exchanges uint32    // inputs of the execution
	FirstFD   uint64    // descriptors from here on belong to an execution
	Changes   uint32    // of descriptors, since the first place was kept
	Printed   [2]uint64 // bytes of stdout and stderr before the execution went on from a place
	Change    [MaxDescriptors]SharedChange
	Table     [MaxTables]Region // memory beside the program's: saved is how much of it is in use
	Place     [MaxPlaces]SharedPlace
}

// SharedKeep is a wish for a place: as soon as the execution has got to a position.
type SharedKeep struct {
	Position uint32
	Slot     uint32
}

// SharedPlace is a place that was kept, and what the shared memory said there.
type SharedPlace struct {
	Context   [4]uint64
	Kept      uint32
	Position  uint32 // of the next choice
	Records   uint32
	Steps     uint32
	Exchanges uint32
	Changes   uint32
	Printed   [2]uint64
	Weight    SharedWeight
	Points    SharedPoints
}

// SharedChange is a descriptor that was opened or, if it has a spare, closed.
type SharedChange struct {
	FD    int32
	Spare int32 // another descriptor for the same
	Flags uint32
}

// SharedLeft is what executions may have left outside of their memory. The worker notes it, and
// whoever has looked after it takes it back: the checker, and the worker.
type SharedLeft struct {
	Output uint32 // something may have been written to an output
	Opened uint32 // descriptors may have been opened
}
