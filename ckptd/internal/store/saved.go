package store

// Saved is what a backend has of an image. Its methods may be called with the lock of the store
// held, so they must not use the store.
type Saved interface {
	// InMemory tells whether it is held by processes, with whose end it is gone.
	InMemory() bool
	Alive() bool
	PIDs() []int  // of those processes
	Bytes() int64 // of memory that they have just taken
	Weigh() int64 // of memory that they hold now, with their shares of what others hold, too
	Fixed() int64 // the part of both that no other image can share
	Mapped() MappedFiles
	End() // drops it
}
