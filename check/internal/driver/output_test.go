package driver

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/iocache"
)

func TestEndOfAText(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"a\nb":             "a\nb",
		"1234567890":       "1234567890",
		"12345678901":      "...\n2345678901",
		"first\nlast!":     "...\nlast!",
		"first\nlast\n":    "...\nlast\n",
		"a\nb\nc\nd\ne\nf": "...\nb\nc\nd\ne\nf",
	} {
		if got := endOf(text, 10); got != want {
			t.Errorf("the end of %q is %q, not %q", text, got, want)
		}
	}
}

// TestOutputsAreBounded: what is over the bound is not kept, and it is known that it is not.
func TestOutputsAreBounded(t *testing.T) {
	var log outputLog
	text := strings.Repeat("x", maxOutputs/4)
	for at := range 6 {
		log.keep(iocache.NodeID(at), []Written{{"a", text}})
	}
	log.keep(iocache.NodeID(1), []Written{{"a", "again"}})
	log.keep(iocache.NodeID(9), nil)
	for at, want := range map[int]bool{0: true, 1: true, 3: true, 4: false, 5: false, 8: false, 9: true} {
		list, known := log.at[iocache.NodeID(at)]
		if known != want || at == 1 && (len(list) != 1 || list[0].Text != text) {
			t.Errorf("place %d: known %t, %d texts", at, known, len(list))
		}
	}
}
