package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/lint/internal/house"
)

// TestProse: documents are made of short sentences and short lines. Code, tables and headings do
// not count.
func TestProse(t *testing.T) {
	for _, d := range documents(t) {
		var prose []string
		for _, line := range strings.Split(fence.ReplaceAllString(d.text, ""), "\n") {
			if line != "" && strings.ContainsRune("|#<", rune(line[0])) || strings.HasPrefix(line, "    ") {
				continue
			}
			if columns := house.Columns(line); columns > house.MaxCommentColumn &&
				strings.Contains(line, " ") {
				t.Errorf("%s: %d columns, at most %d: %s", d.path, columns, house.MaxCommentColumn, line)
			}
			prose = append(prose, bullet.ReplaceAllString(line, "\n"))
		}
		words := house.Sentences(strings.Join(prose, "\n"))
		slices.Sort(words)
		if n := len(words); n > 0 && words[(n-1)/2] > house.MaxWords {
			t.Errorf("%s: half of the sentences have %d words or more, want at most %d",
				d.path, words[(n-1)/2], house.MaxWords)
		}
	}
}

// bullet begins an item of a list, which is a sentence of its own.
var bullet = regexp.MustCompile(`^\s*(-|\d+\.) `)
