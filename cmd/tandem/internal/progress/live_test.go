package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

// plain is a text without the escape sequences of the view.
func plain(text string) string {
	return strings.NewReplacer(strong, "", faint, "", reset, "").Replace(text)
}

// TestFramesFit: a frame stays within its terminal, of whatever size, and is the beginning of the
// frame that a large one shows.
func TestFramesFit(t *testing.T) {
	whole := plain(frame{snapshot: someProgress(1234), visible: true, width: 200, height: 50}.text())
	rapid.Check(t, func(t *rapid.T) {
		f := frame{snapshot: someProgress(1234), visible: true}
		f.width, f.height = rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(0, 12).Draw(t, "height")
		text := f.text()
		if f.width == 0 || f.height == 0 {
			if text != "" {
				t.Fatalf("%q on a terminal of %d columns, %d lines", text, f.width, f.height)
			}
			return
		}
		lines := strings.Split(plain(text), "\n")
		if len(lines) > max(f.height-1, 1) {
			t.Fatalf("%d lines on a terminal of %d", len(lines), f.height)
		}
		for i, line := range strings.Split(whole, "\n")[:len(lines)] {
			if n := utf8.RuneCountInString(lines[i]); n > f.width || !strings.HasPrefix(line, lines[i]) {
				t.Fatalf("line %d has %d of %d columns: %q", i, n, f.width, lines[i])
			}
		}
		if strings.Count(text, reset) != len(lines) {
			t.Fatalf("a style goes on behind its text: %q", text)
		}
	})
}

// TestFramesFollowMessages: a frame is empty until it has a size and a content, and after the end.
func TestFramesFollowMessages(t *testing.T) {
	var model tea.Model = frame{}
	shown := func() bool { return model.(frame).text() != "" }
	for i, step := range []struct {
		message tea.Msg
		shown   bool
	}{
		{tea.WindowSizeMsg{Width: 80, Height: 24}, false}, {someProgress(7), true}, {"something else", true},
		{tea.WindowSizeMsg{Width: 0, Height: 0}, false}, {tea.WindowSizeMsg{Width: 80, Height: 24}, true},
		{endOfView{}, false},
	} {
		var command tea.Cmd
		model, command = model.Update(step.message)
		if shown() != step.shown {
			t.Errorf("after message %d, %T, something is shown: %t", i, step.message, shown())
		}
		if _, ends := step.message.(endOfView); ends != (command != nil) {
			t.Errorf("message %d, %T, ends the view: %t", i, step.message, command != nil)
		}
	}
	if (frame{}).Init() != nil {
		t.Error("a frame begins with a command")
	}
}

// TestCutTwin: a text is cut behind so many characters, and never within one.
func TestCutTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aä€ "))).Draw(t, "text")
		n := rapid.IntRange(-2, 12).Draw(t, "columns")
		want, left := "", n
		for _, r := range text {
			if left--; left >= 0 {
				want += string(r)
			}
		}
		if got := cut(text, n); got != want {
			t.Fatalf("%q cut to %d is %q, want %q", text, n, got, want)
		}
	})
}

// TestPlainLinesBecomeRarer: a check of any length says something at least every minute, and not
// much more often than twice as rarely each time.
func TestPlainLinesBecomeRarer(t *testing.T) {
	lines, at := 0, time.Duration(0)
	for at < 24*time.Hour {
		next := nextLine(at)
		if next-at > time.Minute || next-at < time.Second || next > max(2*at, time.Second) {
			t.Fatalf("after %v the next line is at %v", at, next)
		}
		lines, at = lines+1, next
	}
	if lines > 24*60+10 {
		t.Errorf("%d lines in a day", lines)
	}
}

// TestFractions: a fraction has two digits at least, and what is smaller than can be said is said
// to be so.
func TestFractions(t *testing.T) {
	for x, want := range map[float64]string{
		1: "about 100 %", 0.5: "about 50 %", 0.1: "about 10 %", 0.0999: "about 10 %", 0.0123: "about 1.2 %",
		0.0001: "about 0.01 %", 0.00009: "less than 0.01 %", 0: "less than 0.01 %",
	} {
		if got := percent(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// TestRates: executions in a second, also of a search that has just begun.
func TestRates(t *testing.T) {
	for want, test := range map[string]struct {
		executions int
		elapsed    time.Duration
	}{
		"0": {0, 0}, "1,000": {1, 0}, "50": {100, 2 * time.Second}, "12,345": {12345, time.Second},
		"0 ": {1, time.Hour},
	} {
		s := someProgress(test.executions)
		s.Counts.Elapsed = test.elapsed
		if got := s.rate(); got != strings.TrimSpace(want) {
			t.Errorf("%d in %v: %s, want %s", test.executions, test.elapsed, got, want)
		}
	}
}

// TestRowsOfAView: what has no value yet has no row, and without peers there is nothing of them.
func TestRowsOfAView(t *testing.T) {
	names := func(s snapshot) string {
		var list []string
		for _, row := range s.rows() {
			list = append(list, row[0])
		}
		return strings.Join(list, " ")
	}
	s := someProgress(10)
	if got, want := names(s), "executions traces violations depth cache peers time"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.peers, s.Verdict.Violations = false, 0
	if got, want := names(s), "executions traces depth time"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Verdict.Redundant, s.Verdict.Limited = 0, 0
	if got := s.without(); got != "" {
		t.Errorf("without %q", got)
	}
	s.Verdict.Limited = 3
	if got := s.without(); got != ", and 3 cut off" {
		t.Errorf("without %q", got)
	}
	if strings.Contains(s.line(), "cache") || strings.Contains(s.line(), "violation") {
		t.Errorf("a line has what there is not: %s", s.line())
	}
}

// TestSayingSomething: lines of several executors are whole, and have the name of the command.
func TestSayingSomething(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{Out: &out, Plain: true}
	done := make(chan struct{})
	for i := range 4 {
		go func() {
			for range 50 {
				p.Say("executor %d says %d %%", i, 7)
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 200 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		var i int
		if n, _ := fmt.Sscanf(line, "tandem: executor %d says 7 %%", &i); n != 1 {
			t.Errorf("%q", line)
		}
	}
	p.Pause() // there is no view to clear
}
