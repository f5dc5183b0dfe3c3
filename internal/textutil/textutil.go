// Package textutil writes numbers and commands for people, in reports and in the messages of all
// rooms but the pure ones.
package textutil

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Count is a number in groups of three digits: 1,234.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// CountOf is a number and what it counts, a noun whose plural ends with s.
func CountOf(n int, noun string) string { return PluralOf(n, noun, noun+"s") }

// PluralOf is a number and what it counts, for any noun.
func PluralOf(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + several
}

// Bytes is an amount of memory, in the greatest unit of which it is at least one: 1.5 MiB. It has
// one digit after the point where the unit is not the byte itself. Units go up to GiB.
func Bytes(n float64) string {
	const step = 1 << 10
	unit := "B"
	for _, next := range []string{"KiB", "MiB", "GiB"} {
		if n < step {
			break
		}
		n, unit = n/step, next
	}
	return strconv.FormatFloat(n, 'f', min(1, len(unit)-1), 64) + " " + unit
}

// Seconds writes a time that is not negative to the nanosecond, as in "2 s" and "0.25 s".
func Seconds(d time.Duration) string {
	s := strings.TrimRight(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second), "0")
	return strings.TrimSuffix(s, ".") + " s"
}

// FunctionName is a function's name as the source has it, of the one that the linker gives it and
// the runtime prints. In the last element of a package's path, the linker writes "%2e" for a dot
// (cmd/internal/objabi.PathToPrefix). So the first dot behind the last slash ends the path.
func FunctionName(linked string) string {
	if !strings.Contains(linked, "%") {
		return linked
	}
	name, err := url.PathUnescape(linked)
	if err != nil {
		return linked // the linker has not written it
	}
	return name
}

// PackageOf is the import path of the package of a function, which is named as the linker does it.
func PackageOf(linked string) string {
	path, _, _ := strings.Cut(linked, "[") // type arguments have paths of their own
	slash := strings.LastIndex(path, "/") + 1
	if dot := strings.Index(path[slash:], "."); dot >= 0 {
		path = path[:slash+dot]
	}
	return FunctionName(path)
}

// QuoteArg quotes an argument that a POSIX shell would take apart or expand. Single quotes hold
// everything but themselves.
func QuoteArg(arg string) string {
	if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`*?[]{}()<>|&;!#~") {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return arg
}
