package table

import (
	"bytes"
	"slices"
	"strings"
)

// CompareSent compares messages of one sender: by receiver, then by their bytes.
func CompareSent(a, b Sent) int {
	if a.To != b.To {
		return a.To - b.To
	}
	return bytes.Compare(a.Image, b.Image)
}

// Namer is Handlers that can tell images apart by texts that are the same in all processes.
type Namer interface{ TypedText(image []byte) string }

// sorted sorts what one handler has sent: by receiver, then by text. Bytes would not do, since
// types have other numbers in another process.
func sorted(h Handlers, list []Sent) []Sent {
	texts, _ := h.(Namer)
	return slices.SortedStableFunc(slices.Values(list), func(a, b Sent) int {
		switch {
		case a.To != b.To:
			return a.To - b.To
		case texts == nil || bytes.Equal(a.Image, b.Image):
			return bytes.Compare(a.Image, b.Image)
		}
		return strings.Compare(texts.TypedText(a.Image), texts.TypedText(b.Image))
	})
}

// BySender are the messages of a set, of which each has another sender.
func BySender(t *Table, set []Message) []Sent {
	list := make([]Sent, len(set))
	for i, number := range set {
		list[i] = t.Message(number)
	}
	slices.SortFunc(list, func(a, b Sent) int { return a.From - b.From })
	return list
}

// NextPlan is what to choose the next time, as an odometer counts; nil if all was chosen. Options
// are how many values there were each time.
func NextPlan(chosen, options []int) []int {
	// The last choice that has values left is raised; those behind it begin anew.
	for i := len(chosen) - 1; i >= 0; i-- {
		if chosen[i]+1 < options[i] {
			return append(append([]int{}, chosen[:i]...), chosen[i]+1)
		}
	}
	return nil
}
