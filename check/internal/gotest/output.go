package gotest

import "strings"

// marker precedes what package testing itself says, in the output that is meant for test2json.
const marker = "\x16"

// Text is the output of a test binary for people: without the lines that say how far the tests are,
// and with their results. The result of the whole binary at the end is left out: the report has its
// own verdict.
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

// Failures are the lines that failing tests have printed, in their order; without any, those that
// say which tests fail. Of what fails only since a subtest has, nothing is among them. Lines count
// for the test that printed them. What parallel tests print is attributed by the lines of package
// testing.
func Failures(stdout []byte) (lines []string) {
	p := readProgress(stdout)
	failing := map[string]bool{}
	for _, name := range p.blamed("") {
		failing[name] = true
	}
	printing, marks := "", []string(nil)
	for i, part := range strings.Split(string(stdout), marker) {
		first, rest, _ := strings.Cut(part, "\n")
		if name, ok := printer(first); i > 0 && ok {
			printing = name
		} else if i == 0 {
			rest = part
		} else if name, ok := strings.CutPrefix(first, "--- FAIL: "); ok && failing[withoutTime(name)] {
			marks = append(marks, first)
		}
		if failing[printing] {
			lines = append(lines, nonEmpty(rest)...)
		}
	}
	if len(lines) == 0 {
		return marks
	}
	return lines
}

// printer is the test that prints what follows a line of package testing; false if that does not
// say.
func printer(line string) (test string, ok bool) {
	for _, prefix := range []string{"=== RUN   ", "=== CONT  ", "=== NAME  "} {
		if test, ok = strings.CutPrefix(line, prefix); ok {
			return test, true
		}
	}
	return "", false
}

// withoutTime is the name in NAME (0.00s). A text without a time in parentheses gives the empty
// name.
func withoutTime(result string) string {
	return result[:max(strings.LastIndex(result, " ("), 0)]
}

// nonEmpty are the lines that have more than white space, without line feeds.
func nonEmpty(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
