package abi

// SharedDetails are what a report shows of an execution besides its log. They are noted only if the
// checker wants them, and change nothing in the log.
type SharedDetails struct {
	RaceWatch uint32 // the checker's: note the stack of raceEarlier when it happens
	Want      uint32 // the checker's: note the records below
	Count     uint32
	Record    [MaxDetails]Record
}

// Kinds of the records of details.
const (
	DetailMade  = 1 + iota // a a channel, pc where it was made, open the nearest call in the program
	DetailCalls            // four calls, as a, b, pc and open, of the stack before; 0: none
	DetailText             // 32 bytes, as a, b, pc and open, of the type before
	// A goroutine, at the end: number its calls, which follow.
	DetailStack
	// A channel, at the end: b its capacity, pc how many values it holds, flag 1 if it is closed,
	// number the length of the name of its values' type, which follows.
	DetailChannel
	// A goroutine begins, or a partner has it begin, at record b of the log: number 1 + the arm of
	// its operation that goes on, or 0 for the default.
	DetailArm
	DetailWait    // a goroutine, at the end: number an arm, b the channel, flag 1 if it sends
	DetailPrinted // number bytes to descriptor flag, at record b of the log
	// A goroutine arrives at an operation, at record b of the log: number its calls, which follow.
	DetailArrival
	DetailKinds
)
