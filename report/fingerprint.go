package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// numbers differ between executions, and between versions of a source that has other lines.
var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// directories of a place depend on where the check was started.
var directories = regexp.MustCompile(`\S*/`)

// Fingerprint tells violations apart from check to check: 32 hexadecimal digits. It is made of the
// kind, of the functions that the violation is in, and of the message without its numbers. So it
// stays when lines move, and when the schedule that leads there is another one. Where no function
// is known, the places stand for them.
func Fingerprint(v Violation) string {
	sum := sha256.New()
	// Each part has its length in front, so that no two lists of parts are written alike.
	part := func(text string) { fmt.Fprintf(sum, "%d:%s\n", len(text), text) }
	part("1") // of what the fingerprint is made
	part(RuleOf(v).ID)
	part(numbers.ReplaceAllString(v.Message, "N"))
	in := v.Functions
	if len(in) == 0 {
		in = v.Places
	}
	for _, text := range in {
		// Names of function literals have numbers, which count.
		if len(v.Functions) == 0 {
			text = numbers.ReplaceAllString(directories.ReplaceAllString(text, ""), "N")
		}
		part(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
