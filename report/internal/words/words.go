// Package words has the small parts of which reports are made: text that does no harm on a
// terminal, numbers with what they count, names of functions.
package words

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// Fit cuts text to n columns, of which the last three are then dots. So n must be at least 3. A
// character counts as one column.
func Fit(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-3]) + "..."
}

// Wrap breaks text at blanks into lines of at most n columns, as Fit counts them. A word that is
// longer has a line of its own. Text without words is one empty line.
func Wrap(text string, n int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= n:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Pad fills text up to n columns, or cuts it. The result always has n columns.
func Pad(text string, n int) string {
	text = Fit(text, n)
	return text + strings.Repeat(" ", n-utf8.RuneCountInString(text))
}

// PrintableText replaces what a terminal would act on, but for the ends of lines and tabs, by its
// escape sequence in Go. Errors name files of the peers, and what recordings of others hold.
func PrintableText(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(text, "\n\t")
		if i < 0 {
			b.WriteString(Printable(text))
			return b.String()
		}
		b.WriteString(Printable(text[:i]) + text[i:i+1])
		text = text[i+1:]
	}
}

// Printable replaces what a terminal would act on by its escape sequence in Go. Bytes that are no
// UTF-8 become \x and two digits. A text that has none of these is returned as it is, and so is the
// result of Printable.
func Printable(text string) string {
	if !strings.ContainsFunc(text, isUnprintable) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		// Ranging over a string gives the same character for bytes that are no UTF-8 and for
		// itself.
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			fmt.Fprintf(&b, `\x%02x`, text[i])
		} else if isUnprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnprintable reports whether a terminal may act on a character, or show nothing for it.
func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// Function is a function's name as the source has it.
func Function(function string) string { return Printable(textutil.FunctionName(function)) }

// ShortFunction leaves the last element of the package path: "ssh.(*mux).loop". Of a function that
// is not known nothing is left.
func ShortFunction(function string) string {
	if function == "" {
		return ""
	}
	return Function(path.Base(function))
}

// BareFunction leaves the name within the package: "(*mux).loop". What the compiler makes of a
// deferred call goes by the name of the function that defers it.
func BareFunction(function string) string {
	_, name, _ := strings.Cut(Printable(path.Base(function)), ".")
	if deferring, number, ok := strings.Cut(name, ".deferwrap"); ok &&
		strings.Trim(number, "0123456789") == "" {
		return deferring
	}
	return name
}

// OneLine joins lines, and has nothing that a terminal would act on. Several blanks become one.
func OneLine(text string) string { return Printable(strings.Join(strings.Fields(text), " ")) }

// Line makes one line of a text, with a blank for everything that a terminal could act on. Its
// length in characters stays.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
