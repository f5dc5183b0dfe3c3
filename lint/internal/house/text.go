package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
)

// text is a Go file as lines.
type text struct {
	name  string
	lines []string
	// isComment says of each line whether it holds nothing but a comment.
	isComment []bool
}

// readText reads and parses a file. Comments are told from texts that look like them, in strings.
func readText(name string) (*text, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	// Names need not be resolved for this, which is faster.
	file, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	t := &text{name: name, lines: strings.Split(string(bytes.TrimSuffix(data, []byte("\n"))), "\n")}
	t.isComment = make([]bool, len(t.lines))
	for _, group := range file.Comments {
		for _, comment := range group.List {
			first, last := fset.PositionFor(comment.Pos(), false), fset.PositionFor(comment.End(), false)
			// A comment of several lines begins behind something, or stands alone from then on.
			for line := first.Line; line <= last.Line; line++ {
				before := t.lines[line-1]
				if line == first.Line {
					before = before[:first.Column-1]
				} else {
					before = ""
				}
				t.isComment[line-1] = strings.TrimSpace(before) == ""
			}
		}
	}
	return t, nil
}

// comments is how many lines hold nothing but a comment.
func (t *text) comments() (n int) {
	for _, is := range t.isComment {
		if is {
			n++
		}
	}
	return n
}

// Columns is how wide a line is. A tab goes on to the next multiple of TabWidth; every other
// character is one column wide.
func Columns(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += TabWidth - n%TabWidth
		} else {
			n++
		}
	}
	return n
}

// sentences counts the words of each sentence of a file's comments.
func sentences(file *ast.File) (words []int) {
	for _, group := range file.Comments {
		words = append(words, Sentences(group.Text())...)
	}
	return words
}

// end is where a sentence ends. A mark within a word, as in a file's name, is not followed by a
// blank. An empty line ends a sentence, too.
var end = regexp.MustCompile(`[.!?][")]?\s+|\n\n`)

// Sentences counts the words of each sentence of a text. What has no verb, such as
// a line of code, is counted as well.
func Sentences(text string) (words []int) {
	// The mark itself is a part of the last word, or is cut off.
	for _, sentence := range end.Split(text, -1) {
		if n := len(strings.Fields(sentence)); n > 0 {
			words = append(words, n)
		}
	}
	return words
}
