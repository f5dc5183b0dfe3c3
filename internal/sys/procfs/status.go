package procfs

import (
	"strconv"
	"strings"
)

// Status is the text of /proc/PID/status, or of another file of /proc with such lines: "Name:", a
// tabulator or other space, and a value.
type Status string

// Field is what comes in a line after the tabulator, by its name with the colon; empty if there is
// none.
func (s Status) Field(name string) string {
	text := string(s)
	if !strings.HasPrefix(text, name) {
		at := strings.Index(text, "\n"+name)
		if at < 0 {
			return ""
		}
		text = text[at+1:]
	}
	line, _, _ := strings.Cut(text[len(name):], "\n")
	return strings.TrimPrefix(line, "\t") // a name may end with spaces
}

// Bytes is an amount of memory, 0 if it is not there.
func (s Status) Bytes(name string) int64 { return ParseKibibytes(s.Field(name)) }

// ParseKibibytes reads "  12 kB" as bytes: the files of /proc have all amounts in this unit. What
// is not of that form counts as nothing.
func ParseKibibytes(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
	return n << 10
}
