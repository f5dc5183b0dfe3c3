package main

import (
	"errors"
	"fmt"
	"strings"
)

// elision stands for text that a document leaves out: any lines where it is a line of its own, any
// part of a line elsewhere.
const elision = "..."

// compare says what differs between what a document shows and what was printed; nil is nothing.
// Blanks at the ends of lines and empty lines at the beginning and the end do not count.
func compare(shown []string, printed string) error {
	want, got := trimmed(shown), trimmed(strings.Split(printed, "\n"))
	furthest := 0
	if matchLines(want, got, &furthest) {
		return nil
	}
	// The first line that is not found is of more use than all that could be.
	if furthest == len(want) {
		return errors.New("more is printed than the document shows")
	}
	return fmt.Errorf("this is not printed, or not in this place:\n    %s", want[furthest])
}

// trimmed are lines without the blanks at their ends, and without empty lines around them.
func trimmed(lines []string) []string {
	text := make([]string, len(lines))
	for i, line := range lines {
		text[i] = strings.TrimRight(line, " \t\r")
	}
	for len(text) > 0 && text[0] == "" {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] == "" {
		text = text[:len(text)-1]
	}
	return text
}

// matchLines says whether all of got is shown by want, and notes how many lines of want were found
// at most. It keeps the set of all positions in got where the rest may begin, so its time is at
// most the product of both lengths.
func matchLines(want, got []string, furthest *int) bool {
	positions := map[int]bool{0: true}
	// Nothing of want has been looked at, so the rest begins with the first line.
	for i, line := range want {
		next := map[int]bool{}
		for at := range positions {
			switch {
			// It may stand for nothing, too.
			case strings.TrimSpace(line) == elision:
				for skipped := at; skipped <= len(got); skipped++ {
					next[skipped] = true
				}
			case at < len(got) && matchLine(line, got[at]):
				next[at+1] = true
			}
		}
		if len(next) == 0 {
			*furthest = i
			return false
		}
		positions = next
	}
	*furthest = len(want)
	return positions[len(got)]
}

// matchLine says whether a line is as shown. Elisions take as little as they can, which finds a
// match if there is one, because the last part must be at the end.
func matchLine(want, got string) bool {
	parts := strings.Split(want, elision)
	if len(parts) == 1 {
		return want == got
	}
	rest, found := strings.CutPrefix(got, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		if !found {
			return false
		}
		_, rest, found = strings.Cut(rest, part)
	}
	return found && strings.HasSuffix(rest, parts[len(parts)-1])
}
