// Package bug describes the exhibits of the gallery.
package bug

// Bug is a small program with a known concurrency bug, and the same without it.
// Both are run from main and return when they are done.
type Bug struct {
	Name  string    // as on the command line
	Class string    // in the terms of the studies that the gallery follows
	Doc   string    // what is wrong, in a sentence
	Shows Violation // what a search finds in Buggy; in Fixed it finds nothing
	Buggy func()
	Fixed func()
}

// Violation is a way in which a program shows that it has a bug.
type Violation string

// The violations.
const (
	Deadlock  Violation = "deadlock"
	Panic     Violation = "panic" // a panic, or a fatal error of the runtime
	Assertion Violation = "assertion failed"
	Exit      Violation = "exit" // with a status that is not zero
	Leak      Violation = "goroutine leak"
	DataRace  Violation = "data race"
)
