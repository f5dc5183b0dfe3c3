// Package invariant states what must be true whatever the input, in releases too: a broken
// invariant is a mistake in this program, and going on could give a wrong verdict.
//
// What a user, a file, a peer or the kernel can cause is not an invariant: that is an error, and is
// returned.
package invariant

import "fmt"

// Violation is what a broken invariant panics with. It is an error, so that whoever recovers a
// panic can tell it from others.
type Violation struct {
	Rule string // what was violated, beginning with the package
}

func (v *Violation) Error() string { return "a mistake in Tandem itself: " + v.Rule }

// Check panics with a *Violation unless the condition holds. The rule says what was violated. It
// costs a comparison; where the rule is to name values use Failf behind an if.
func Check(holds bool, rule string) {
	if !holds {
		panic(&Violation{rule})
	}
}

// Failf panics with a *Violation.
func Failf(format string, args ...any) {
	panic(&Violation{fmt.Sprintf(format, args...)})
}
