package main

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

// terminal is the other end of a pseudo terminal, with what would be on its screen.
type terminal struct {
	*os.File
	tty       *os.File // what a program writes to
	lines     [][]rune
	row, col  int
	hidden    bool // the cursor
	inserts   bool // what is written moves what is there
	undecoded []byte
	program   *os.Process // that writes to it; nil if there is none
}

func openTerminal(t *testing.T, columns, rows int) *terminal {
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
	x := &terminal{File: os.NewFile(uintptr(fd), "ptmx"), tty: tty, lines: make([][]rune, rows)}
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
func (x *terminal) keepOutput(t *testing.T) {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag |= unix.NOFLSH
	if err := unix.IoctlSetTermios(int(x.tty.Fd()), unix.TCSETS, settings); err != nil {
		t.Fatal(err)
	}
}

// await reads until the screen is as it should be; that it never is, is an error. A program that
// goes on then says where it stands.
func (x *terminal) await(t *testing.T, what string, done func(screen string) bool) {
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
func (x *terminal) stacks() string {
	if x.program == nil {
		return ""
	}
	x.program.Signal(unix.SIGQUIT)
	x.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, _ := io.ReadAll(x) // up to the deadline: the terminal stays open
	return string(text)
}

// screen is what can be read, without blanks at the ends of lines and below.
func (x *terminal) screen() string {
	var b strings.Builder
	for _, line := range x.lines {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// write does what a terminal does with text. It knows the sequences that are sent to it
// in these tests; others are an error.
func (x *terminal) write(t *testing.T, text []byte) {
	t.Helper()
	text = append(x.undecoded, text...)
	for len(text) > 0 {
		n := 1
		switch c := text[0]; {
		case c == '\r':
			x.col = 0
		case c == '\n':
			x.row++
		case c == '\t': // to the next of the columns that are multiples of 8
			x.col = (x.col/8 + 1) * 8
		case c == '\b':
			x.col = max(x.col-1, 0)
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

func (x *terminal) put(c rune) {
	if x.row >= len(x.lines) {
		x.lines = append(x.lines[1:], nil)
		x.row = len(x.lines) - 1
	}
	line := x.lines[x.row]
	for len(line) <= x.col {
		line = append(line, ' ')
	}
	if x.inserts {
		line = slices.Insert(line, x.col, c)
	}
	line[x.col] = c
	x.lines[x.row] = line
	x.col++
}

// escape does an escape sequence and returns its length, 0 if it is not complete.
func (x *terminal) escape(t *testing.T, text []byte) int {
	t.Helper()
	if len(text) < 2 {
		return 0
	}
	if text[1] == 'M' {
		x.row = max(x.row-1, 0)
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
		x.row = max(x.row-n, 0)
	case 'B':
		x.row += n
	case 'C':
		x.col += n
	case 'D':
		x.col = max(x.col-n, 0)
	case 'G':
		x.col = n - 1
	case 'H':
		x.row, x.col = 0, 0
	case 'J', 'K', 'X', 'P', '@':
		x.erase(text[end], arguments, n)
	case 'h', 'l':
		switch arguments {
		case "?25":
			x.hidden = text[end] == 'l'
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
func (x *terminal) erase(command byte, arguments string, n int) {
	line := x.lines[min(x.row, len(x.lines)-1)]
	switch {
	case command == 'P':
		x.lines[x.row] = slices.Delete(line, min(x.col, len(line)), min(x.col+n, len(line)))
	case command == '@':
		x.lines[x.row] = slices.Insert(line, min(x.col, len(line)), []rune(strings.Repeat(" ", n))...)
	case command == 'X':
		for i := x.col; i < min(x.col+n, len(line)); i++ {
			line[i] = ' '
		}
	case arguments == "2" && command == 'J':
		clear(x.lines)
	case arguments == "1":
		for i := range min(x.col+1, len(line)) {
			line[i] = ' '
		}
	default:
		x.lines[min(x.row, len(x.lines)-1)] = line[:min(x.col, len(line))]
		if command == 'J' {
			clear(x.lines[min(x.row+1, len(x.lines)):])
		}
	}
}
