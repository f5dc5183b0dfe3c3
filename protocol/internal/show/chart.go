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
func Chart(names []string, steps []Step) string {
	width := 6
	for _, name := range names {
		width = max(width, min(utf8.RuneCountInString(name), maxName)+2)
	}
	var b strings.Builder
	head := "      "
	for _, name := range names {
		runes := []rune(name)
		runes = runes[:min(len(runes), maxName)]
		head += string(runes) + strings.Repeat(" ", width-len(runes))
	}
	b.WriteString(strings.TrimRight(head, " ") + "\n")
	for i, s := range steps {
		// Steps are numbered from 1.
		line := fmt.Sprintf("%4d  %s%s", i+1, lanes(len(names), width, s), s.Text)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "      %s  %s\n", lanes(len(names), width, Step{Node: -1}), note)
		}
	}
	return b.String()
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
