package show

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Step is a line of a chart, with what changes below it.
type Step struct {
	Node int
	// From are the nodes whose messages arrive; none for other events.
	From []int
	// Lost: the message does not arrive.
	Lost bool
	// Text says what happens.
	Text string
	// Notes are lines below: what changes, what is sent.
	Notes []string
}

// maxName is how many letters of a node's name are in a chart.
const maxName = 14

// Chart draws a message sequence chart. Each node has a lane, time goes down, and a message is
// drawn where it arrives. On the right it says what happens.
//
//	   client  server
//	1  *       |       ask
//	   |       |         sends Question to server
//	2  +------>*       Question
//	3  x<------+       Answer is lost
//
// Fold draws it again in fewer lines.
func Chart(names []string, steps []Step) string {
	var b strings.Builder
	width := head(&b, names)
	for i, s := range steps {
		b.WriteString(stepLine(i, len(names), width, s))
		b.WriteByte('\n')
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "      %s  %s\n", lanes(len(names), width, Step{Node: -1}), note)
		}
	}
	return b.String()
}

// Screen is how many lines a chart may have before it is folded, foldedWidth how long lines are
// then, and foldedNote how long what is said of one change is.
const (
	Screen      = 50
	foldedWidth = 120
	foldedNote  = 60
)

// Fold draws a chart in two lines for each step at most. What changes stands behind the step, or in
// one line below it if there is no room; what is too long is cut.
func Fold(names []string, steps []Step) string {
	var b strings.Builder
	width := head(&b, names)
	for i, s := range steps {
		line := stepLine(i, len(names), width, s)
		notes := joined(s.Notes)
		switch size := utf8.RuneCountInString; {
		case notes == "":
			b.WriteString(cut(line, foldedWidth) + "\n")
		case size(line)+2+size(notes) <= foldedWidth:
			b.WriteString(line + "  " + notes + "\n")
		default:
			below := fmt.Sprintf("      %s    %s", lanes(len(names), width, Step{Node: -1}), notes)
			b.WriteString(cut(line, foldedWidth) + "\n" + cut(below, foldedWidth+foldedNote) + "\n")
		}
	}
	return b.String()
}

// joined makes one text of notes.
func joined(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	short := make([]string, len(notes))
	for i, note := range notes {
		short[i] = cut(note, foldedNote)
	}
	return "(" + strings.Join(short, "; ") + ")"
}

// cut shortens a text, and says so.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-4]) + " ..."
}

// head draws the names of the nodes, and returns how wide a lane is.
func head(b *strings.Builder, names []string) (width int) {
	width = 6
	for _, name := range names {
		width = max(width, min(utf8.RuneCountInString(name), maxName)+2)
	}
	line := "      "
	for _, name := range names {
		runes := []rune(name)
		runes = runes[:min(len(runes), maxName)]
		line += string(runes) + strings.Repeat(" ", width-len(runes))
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return width
}

// stepLine is the line of a step itself. Steps are numbered from 1.
func stepLine(i, nodes, width int, s Step) string {
	line := fmt.Sprintf("%4d  %s%s", i+1, lanes(nodes, width, s), s.Text)
	return strings.TrimRight(line, " ")
}

// lanes draws one line of all lanes: bars, the node where something happens, and arrows to it.
func lanes(nodes, width int, s Step) string {
	// Each lane begins with its bar.
	line := []rune(strings.Repeat(" ", nodes*width))
	for i := range nodes {
		line[i*width] = '|'
	}
	if s.Node < 0 {
		return string(line)
	}
	to := s.Node * width
	// Of several messages each has an arrow; they may lie over each other.
	for _, from := range s.From {
		arrow(line, from*width, to)
	}
	line[to] = '*'
	if s.Lost {
		line[to] = 'x'
	}
	return string(line)
}

// arrow draws from one column to another. A message to the node itself has a short one.
func arrow(line []rune, from, to int) {
	switch {
	case from < to:
		for i := from + 1; i < to-1; i++ {
			line[i] = '-'
		}
		line[from], line[to-1] = '+', '>'
	case from > to:
		for i := to + 2; i < from; i++ {
			line[i] = '-'
		}
		line[from], line[to+1] = '+', '<'
	default:
		line[to+1], line[to+2] = '<', '-'
	}
}
