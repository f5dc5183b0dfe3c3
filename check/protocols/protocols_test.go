package protocols

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/far"
)

// TestRefusal: what cannot be divided is refused before anything is built, with what to do instead.
func TestRefusal(t *testing.T) {
	server := far.Options{Server: "embedded"}
	for want, o := range map[string]Options{
		"--distribute":              {Parts: 2, Partition: "hash"},
		"from 1 to 256":             {Options: server, Parts: 0, Partition: "hash"},
		"give a number":             {Options: server, Parts: 257, Partition: "hash"},
		"visited twice":             {Options: server, Parts: 2, Partition: "depth"},
		`no partition function "x"`: {Options: server, Parts: 2, Partition: "x"},
		`function "hash=1"`:         {Options: server, Parts: 2, Partition: "hash=1"},
		`"x" is no number`:          {Options: server, Parts: 2, Partition: "part=1,x"},
		`"" is no number`:           {Options: server, Parts: 2, Partition: "part="},
	} {
		if err := Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	for _, partition := range []string{"hash", "part", "part=0,3"} {
		if err := (&Options{Options: server, Parts: 2, Partition: partition}).refusal(); err != nil {
			t.Errorf("%s: %v", partition, err)
		}
	}
}
