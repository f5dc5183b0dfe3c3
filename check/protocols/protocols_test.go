package protocols

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/far"
	"github.com/tandem-mc/tandem/check/internal/members"
	"github.com/tandem-mc/tandem/distribute"
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

// TestNext: what is said of a search that was interrupted is what the next one finds.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		isEmbedded bool
		stored     distribute.Stored
		want       string
	}{
		{true, distribute.StoredCheckpoints, "begins anew: name a server that stays"},
		{false, distribute.StoredNothing, "the same command begins anew"},
		{false, distribute.StoredMessages, "goes on, but no part has a checkpoint"},
		{false, distribute.StoredCheckpoints, "goes on, with the checkpoints"},
	} {
		if got := next(c.isEmbedded, c.stored); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestKeyOf: a search goes on with one of the same program, arguments and parts, wherever it runs
// and however often it saves.
func TestKeyOf(t *testing.T) {
	one := members.Setup{Args: []string{"a"}, Dir: "d", Parts: 2, Partition: "hash", Every: 1}
	key := func(program string, change func(*members.Setup)) string {
		s := one
		change(&s)
		key, err := keyOf(program, s)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	same := key("p", func(*members.Setup) {})
	if got := key("p", func(s *members.Setup) { s.Dir, s.Every = "e", 2 }); got != same {
		t.Errorf("another directory and time between checkpoints make another search: %s, %s", got, same)
	}
	for what, got := range map[string]string{
		"program":   key("q", func(*members.Setup) {}),
		"arguments": key("p", func(s *members.Setup) { s.Args = []string{"b"} }),
		"parts":     key("p", func(s *members.Setup) { s.Parts = 3 }),
		"partition": key("p", func(s *members.Setup) { s.Partition = "part" }),
	} {
		if got == same {
			t.Errorf("another %s makes the same search", what)
		}
	}
}
