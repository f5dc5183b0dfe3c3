package sut

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// TestOperationTable: each operation has a name, and none that lacks the object which it is on.
func TestOperationTable(t *testing.T) {
	classes := []Class{
		ClassSynchronisation, ClassChannel, ClassLifetime, ClassTimer, ClassSocket, ClassChoice,
	}
	objects := []string{
		"", "channel", "mutex", "rwmutex", "wait group", "condition", "once", "variable", "map", "timer",
		"file",
	}
	for o := range Operation(abi.OpCount) {
		if o.Verb() == "" || !strings.HasPrefix(o.String(), o.Verb()) ||
			!strings.HasPrefix(o.On(), o.String()) {
			t.Errorf("operation %d: %q, %q, %q: one is to begin the other", uint8(o), o.Verb(), o, o.On())
		}
		if words := strings.Fields(o.On()); slices.Contains([]string{"for", "to", "of", "from", "on"},
			words[len(words)-1]) &&
			o != Resume && o != Operation(abi.OpGoOn) {
			t.Errorf("%q lacks its object", o.On())
		}
		if !slices.Contains(classes, o.Class()) || !slices.Contains(objects, o.Object()) {
			t.Errorf("%v is of class %q, on an object of kind %q", o, o.Class(), o.Object())
		}
		if (o.Object() == "channel") != (o.Class() == ClassChannel) || o.HasArms() && !o.Blocks() {
			t.Errorf("%v is of class %q, on a %s; arms %v, blocks %v", o, o.Class(), o.Object(),
				o.HasArms(), o.Blocks())
		}
	}
}

func TestOperationNames(t *testing.T) {
	for o, want := range map[Operation][3]string{
		ChannelSend: {"send on", "send on channel", "send on channel"},
		Add:         {"Add to", "Add to", "Add to wait group"},
		Lock:        {"Lock", "Lock", "Lock"},
		Select:      {"select", "select", "select"},
		200:         {"operation 200", "operation 200", "operation 200"},
	} {
		if got := [3]string{o.Verb(), o.String(), o.On()}; got != want {
			t.Errorf("operation %d: %q, want %q", uint8(o), got, want)
		}
	}
	if o := Operation(200); o.HasArms() || o.Blocks() || o.Object() != "" ||
		o.Class() != ClassSynchronisation {
		t.Error("an operation that there is none of has arms, blocks, or has an object or class")
	}
}
