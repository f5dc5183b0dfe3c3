package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintableLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\n\ttwo\n": "one\n\ttwo\n", "a\x1b[31m\nb\xff\t": "a\\x1b[31m\nb\\xff\t",
	} {
		if got := PrintableText(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBareFunction(t *testing.T) {
	for function, want := range map[string]string{
		"example.com/own%2ego.(*T).f": "(*T).f", "example.com/own%2ego.f": "f",
		"":                                      "",
		"main.run":                              "run",
		"golang.org/x/crypto/ssh.(*mux).loop":   "(*mux).loop",
		"main.(*session).connected.deferwrap12": "(*session).connected",
		"main.deferwrapped":                     "deferwrapped",
		"main.f.deferwrapper":                   "f.deferwrapper",
		"example.com/v2.5/x.main.func1":         "main.func1",
	} {
		if got := BareFunction(function); got != want {
			t.Errorf("BareFunction(%q) = %q, want %q", function, got, want)
		}
	}
}

// TestShortFunction: the last element of the path of its package names a function; one that is not
// known has no name.
func TestShortFunction(t *testing.T) {
	for function, want := range map[string]string{
		"": "", "main.run": "main.run", "golang.org/x/crypto/ssh.(*mux).loop": "ssh.(*mux).loop",
		"example.com/v2.5/x.main.func1": "x.main.func1", "a/b.\x1b": `b.\x1b`,
		"example.com/own%2ego.(*T).f": "own.go.(*T).f",
	} {
		if got := ShortFunction(function); got != want {
			t.Errorf("%q is short for %q, want %q", got, function, want)
		}
	}
}

// anyText draws bytes, most of which are no text.
func anyText(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "text")) }

// TestPrintableOfAnything: what comes out can be printed, and is not changed again.
func TestPrintableOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText(t)
		shown := Printable(text)
		if strings.ContainsFunc(shown, isUnprintable) || !utf8.ValidString(shown) ||
			Printable(shown) != shown {
			t.Fatalf("%q is shown as %q", text, shown)
		}
		if PrintableText(text) != text && Printable(text) == text {
			t.Fatalf("%q is harmless, and becomes %q", text, PrintableText(text))
		}
		if strings.Count(PrintableText(text), "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q has other lines in %q", text, PrintableText(text))
		}
		for _, line := range []string{Line(text), OneLine(text)} {
			if strings.ContainsFunc(line, isUnprintable) {
				t.Fatalf("%q is %q in a line", text, line)
			}
		}
	})
}

// TestWidths: text is cut or filled to a number of characters, whatever it is made of.
func TestWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := Printable(anyText(t)), rapid.IntRange(3, 50).Draw(t, "columns")
		if got := utf8.RuneCountInString(Pad(text, n)); got != n {
			t.Fatalf("%q fills %d of %d columns", text, got, n)
		}
		fitted := Fit(text, n)
		if utf8.RuneCountInString(fitted) > n || utf8.RuneCountInString(text) <= n && fitted != text {
			t.Fatalf("%q is cut to %q", text, fitted)
		}
	})
}

// TestWrap: the lines have all words in their order, and none is too long or could take the first
// word of the next one.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := Printable(anyText(t)), rapid.IntRange(1, 50).Draw(t, "columns")
		lines := Wrap(text, n)
		if got, want := strings.Join(lines, " "), strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("%q has the words of %q", got, want)
		}
		for i, line := range lines {
			if strings.Contains(line, " ") && utf8.RuneCountInString(line) > n {
				t.Fatalf("%q has more than %d columns", line, n)
			}
			if i == 0 {
				continue
			}
			word, _, _ := strings.Cut(line, " ")
			if utf8.RuneCountInString(lines[i-1])+1+utf8.RuneCountInString(word) <= n {
				t.Fatalf("%q has room for %q in %d columns", lines[i-1], word, n)
			}
		}
	})
}
