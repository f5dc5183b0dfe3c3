package progress

import (
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// liveView shows on a terminal how far a check is, in a few lines that are updated in place. It
// leaves the terminal's input alone, so that Ctrl-C still sends a signal. Drawing is done by a
// goroutine of bubbletea, so that the search does not wait for the terminal.
type liveView struct {
	program *tea.Program
	// ended is closed when the terminal is as it was.
	ended chan struct{}
}

// framesPerSecond is how often the view is drawn at most. People do not read faster.
const framesPerSecond = 10

// newLiveView begins to show a view on a terminal. It is empty until something is shown.
func newLiveView(terminal *os.File) *liveView {
	v := &liveView{
		program: tea.NewProgram(frame{}, tea.WithOutput(terminal), tea.WithInput(nil),
			tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)),
		ended: make(chan struct{}),
	}
	go func() {
		defer close(v.ended)
		v.program.Run() // if it fails, so does the terminal, and nobody can be told
	}()
	return v
}

// show replaces what the view shows. Not every snapshot is drawn: see framesPerSecond.
func (v *liveView) show(s snapshot) { v.program.Send(s) }

// close clears the view and puts the terminal back as it was. It waits until that is done, so that
// what is printed next is not overwritten.
func (v *liveView) close() {
	v.program.Send(endOfView{})
	<-v.ended
}

// endOfView is the message that ends the view.
type endOfView struct{}

// frame is what the view shows. It implements tea.Model. It is a value: bubbletea hands it on from
// update to update.
type frame struct {
	snapshot
	// Of the terminal; zero: not known yet.
	width, height int
	// Nothing is drawn before the first snapshot, and after the end.
	visible bool
}

// Init has nothing to do: the first message brings the content.
func (f frame) Init() tea.Cmd { return nil }

// Update takes over what a message brings: the size of the terminal, a snapshot, or the end.
// Everything else that bubbletea sends, such as colours of the terminal, is of no interest.
func (f frame) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		f.width, f.height = m.Width, m.Height
	case snapshot:
		f.snapshot, f.visible = m, true
	case endOfView:
		f.visible = false
		return f, tea.Quit
	}
	return f, nil
}

// View is what is drawn.
func (f frame) View() tea.View { return tea.NewView(f.text()) }

// Styles of the view. The renderer leaves out what the terminal does not have, and all of them
// where NO_COLOR is set.
const (
	strong = "\x1b[1m"
	faint  = "\x1b[2m"
	reset  = "\x1b[0m"
)

// labelWidth is that of the column with the names of what is counted.
const labelWidth = 14

// text fits the snapshot into the terminal: lines are cut, and the last ones left out. The bottom
// line stays free, since a terminal scrolls when it is filled. Escape sequences have no width, so
// texts are cut before they get any.
func (f frame) text() string {
	// Before the first message with its size, nothing is known of the terminal.
	if !f.visible || f.width <= 0 || f.height <= 0 {
		return ""
	}
	// Labels are padded to one width, so that numbers stand below each other.
	lines := []string{strong + cut("checking "+f.title, f.width) + reset}
	for _, row := range f.rows() {
		label := cut("  "+row[0]+strings.Repeat(" ", labelWidth-2-len(row[0])), f.width)
		lines = append(lines, faint+label+reset+cut(row[1], f.width-len(label)))
	}
	return strings.Join(lines[:min(len(lines), max(f.height-1, 1))], "\n")
}

// cut cuts text to n columns.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:max(n, 0)])
}
