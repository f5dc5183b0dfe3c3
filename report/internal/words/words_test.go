package words

import "testing"

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
