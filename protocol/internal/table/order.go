package table

import (
	"bytes"
	"slices"
)

// CompareSent compares messages of one sender: by receiver, then by their bytes.
func CompareSent(a, b Sent) int {
	if a.To != b.To {
		return a.To - b.To
	}
	return bytes.Compare(a.Image, b.Image)
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
