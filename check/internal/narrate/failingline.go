package narrate

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// failingLine is the line, of those that failing tests have printed, that says why the first of
// them fails: the first one that does not come from a call of Log. The names of files in the lines
// are those of a directory. Without such a line it is the first of all; without lines it is empty.
func failingLine(dir string, lines []string) string {
	for _, line := range lines {
		if at, ok := locate(line); ok && !logs(filepath.Join(dir, at.File), at.Line) {
			return line
		}
	}
	if len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// logCall is a call that prints, and lets the test pass.
var logCall = regexp.MustCompile(`\.(Logf?|Skipf?)\(`)

// logs reports whether there is such a call, and no other reason to print, at a line of a file. A
// file that cannot be read has no such call.
func logs(file string, line int) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return line >= 1 && line <= len(lines) && logCall.MatchString(lines[line-1])
}
