package iocache

import "fmt"

// Store is where a cache puts reactions for which there is no room in memory: a file that is only
// appended to.
type Store interface {
	Append(data []byte) (offset int64, err error)
	ReadAt(data []byte, offset int64) (n int, err error)
}

// SpillError says that the Store of a cache has lost what was put there.
type SpillError struct{ Err error }

func (e *SpillError) Error() string {
	return fmt.Sprintf("the I/O cache cannot read back the answers for which there was no room in memory: "+
		"%v", e.Err)
}

func (e *SpillError) Unwrap() error { return e.Err }
