package narrate

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/fileutil"
	"github.com/tandem-mc/tandem/sut"
)

// operationName is what an operation is called in a report: as Go calls the method or function.
// Operators of the language have words of their own, such as "send on". What the program's
// surroundings do, such as the arrival of a signal, has a sentence, and no name of this kind.
type operationName struct {
	verb   string // before the name of the object
	object string // the kind of the object, where it has no name and something would be missing
}

// String is the name where the object has none.
func (o operationName) String() string { return strings.TrimSpace(o.verb + " " + o.object) }

// isSleep reports whether a function is time.Sleep, or what the linker calls it.
func isSleep(function string) bool { return function == "time.Sleep" }

// describe says what a goroutine is blocked in, as far as it is known.
func describe(operation operationName, object, source string) string {
	// An object with a name needs no kind: "Add to wait group 2", and "Add to wait group".
	text := operation.String()
	if object != "" {
		text = operation.verb + " " + object
	}
	if source != "" {
		text += " at " + source
	}
	return text
}

// shortSource is a place as it can be opened from the working directory.
func shortSource(at sut.Position) string {
	return fmt.Sprintf("%s:%d", fileutil.Openable(at.File), at.Line)
}
