// Package terminal is the other end of a pseudo terminal, for tests of programs that draw on one.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is the other end of a pseudo terminal, with what would be on its screen. It is used by
// one goroutine at a time.
type Terminal struct {
	*os.File
	TTY      *os.File    // what a program writes to
	Program  *os.Process // that writes to it; nil if there is none
	Row, Col int         // of the cursor
	Hidden   bool        // the cursor is not shown

	lines     [][]rune
	inserts   bool // what is written moves what is there
	undecoded []byte
}

// Open opens a terminal of a size. It is closed when the test ends.
func Open(t *testing.T, columns, rows int) *Terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &Terminal{File: os.NewFile(uintptr(fd), "ptmx"), TTY: tty, lines: make([][]rune, rows)}
	t.Cleanup(func() { x.Close(); tty.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	x.keepOutput(t)
	return x
}

// keepOutput has a Ctrl-C leave alone what a program has written and nobody has read yet. By
// default the kernel drops that. Then the screen is not as the program thinks, and what the program
// clears is in another line.
func (x *Terminal) keepOutput(t *testing.T) {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(x.TTY.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag |= unix.NOFLSH
	if err := unix.IoctlSetTermios(int(x.TTY.Fd()), unix.TCSETS, settings); err != nil {
		t.Fatal(err)
	}
}

// Await reads until the screen is as it should be; that it never is, is an error. A program that
// goes on then says where it stands.
func (x *Terminal) Await(t *testing.T, what string, done func(screen string) bool) {
	t.Helper()
	x.SetReadDeadline(time.Now().Add(2 * time.Minute))
	var buffer [4096]byte
	for !done(x.screen()) {
		n, err := x.Read(buffer[:])
		if err != nil {
			t.Fatalf("waiting for %s: %v; the screen shows\n%s\n%s", what, err, x.screen(), x.stacks())
		}
		x.write(t, buffer[:n])
	}
}

// stacks are those of a program that has not ended; empty of one that has.
func (x *Terminal) stacks() string {
	if x.Program == nil {
		return ""
	}
	x.Program.Signal(unix.SIGQUIT)
	x.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, _ := io.ReadAll(x) // up to the deadline: the terminal stays open
	return string(text)
}

// screen is what can be read, without blanks at the ends of lines and below.
func (x *Terminal) screen() string {
	var b strings.Builder
	for _, line := range x.lines {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// write does what a terminal does with text. It knows the sequences that tests have
// come across; others are an error.
func (x *Terminal) write(t *testing.T, text []byte) {
	t.Helper()
	text = append(x.undecoded, text...)
	for len(text) > 0 {
		n := 1
		switch c := text[0]; {
		case c == '\r':
			x.Col = 0
		case c == '\n':
			x.Row++
		case c == '\t': // to the next of the columns that are multiples of 8
			x.Col = (x.Col/8 + 1) * 8
		case c == '\b':
			x.Col = max(x.Col-1, 0)
		case c == 0x1b:
			if n = x.escape(t, text); n == 0 {
				x.undecoded = bytes.Clone(text)
				return
			}
		default:
			x.put(rune(c))
		}
		text = text[n:]
	}
	x.undecoded = nil
}

func (x *Terminal) put(c rune) {
	if x.Row >= len(x.lines) {
		x.lines = append(x.lines[1:], nil)
		x.Row = len(x.lines) - 1
	}
	line := x.lines[x.Row]
	for len(line) <= x.Col {
		line = append(line, ' ')
	}
	if x.inserts {
		line = slices.Insert(line, x.Col, c)
	}
	line[x.Col] = c
	x.lines[x.Row] = line
	x.Col++
}

// escape does an escape sequence and returns its length, 0 if it is not complete.
func (x *Terminal) escape(t *testing.T, text []byte) int {
	t.Helper()
	if len(text) < 2 {
		return 0
	}
	if text[1] == 'M' {
		x.Row = max(x.Row-1, 0)
		return 2
	}
	if text[1] != '[' {
		t.Fatalf("unknown escape sequence %q", text[:2])
	}
	end := 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	if end == len(text) {
		return 0
	}
	arguments := string(text[2:end])
	n := 1
	fmt.Sscan(arguments, &n)
	switch text[end] {
	case 'A':
		x.Row = max(x.Row-n, 0)
	case 'B':
		x.Row += n
	case 'C':
		x.Col += n
	case 'D':
		x.Col = max(x.Col-n, 0)
	case 'G':
		x.Col = n - 1
	case 'H':
		x.Row, x.Col = 0, 0
	case 'J', 'K', 'X', 'P', '@':
		x.erase(text[end], arguments, n)
	case 'h', 'l':
		switch arguments {
		case "?25":
			x.Hidden = text[end] == 'l'
		case "4":
			x.inserts = text[end] == 'h'
		}
	case 'm', 'u', 'q':
	default:
		t.Fatalf("unknown escape sequence %q", text[:end+1])
	}
	return end + 1
}

// erase leaves out, or makes room for, a part of the line or the screen.
func (x *Terminal) erase(command byte, arguments string, n int) {
	line := x.lines[min(x.Row, len(x.lines)-1)]
	switch {
	case command == 'P':
		x.lines[x.Row] = slices.Delete(line, min(x.Col, len(line)), min(x.Col+n, len(line)))
	case command == '@':
		x.lines[x.Row] = slices.Insert(line, min(x.Col, len(line)), []rune(strings.Repeat(" ", n))...)
	case command == 'X':
		for i := x.Col; i < min(x.Col+n, len(line)); i++ {
			line[i] = ' '
		}
	case arguments == "2" && command == 'J':
		clear(x.lines)
	case arguments == "1":
		for i := range min(x.Col+1, len(line)) {
			line[i] = ' '
		}
	default:
		x.lines[min(x.Row, len(x.lines)-1)] = line[:min(x.Col, len(line))]
		if command == 'J' {
			clear(x.lines[min(x.Row+1, len(x.lines)):])
		}
	}
}
