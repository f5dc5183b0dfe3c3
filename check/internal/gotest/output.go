package gotest

import "strings"

// marker precedes what package testing itself says, in the output that is
// meant for test2json.
const marker = "\x16"

// Text is the output of a test binary for people: without the lines that
// say how far the tests are, and with their results.
func Text(stdout []byte) string {
	var b strings.Builder
	for i, part := range strings.Split(string(stdout), marker) {
		if i > 0 && strings.HasPrefix(part, "=== ") {
			_, part, _ = strings.Cut(part, "\n")
		} else if text := b.String(); text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(part)
	}
	text := b.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, end := range []string{"FAIL\n", "PASS\n"} {
		text = strings.TrimSuffix(text, end)
	}
	return text
}
