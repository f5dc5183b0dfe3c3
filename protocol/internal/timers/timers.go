// Package timers keeps the timers of a node that are set, each by its image. Their order is part of
// the state: an event names a timer by its place.
package timers

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Texts tells timers apart by texts that are the same in all processes. Bytes of images are not,
// since types have other numbers in another process. Images with equal texts come in the order of
// their bytes.
type Texts interface{ TypedText(image []byte) string }

// Set adds a timer to a sorted list, if it is not there. The given list may be changed.
func Set(list []string, image string, by Texts) []string {
	if i, found := find(list, image, by); !found {
		list = slices.Insert(list, i, image)
	}
	return list
}

// Stop removes a timer from a sorted list, if it is there. The given list may be changed.
func Stop(list []string, image string, by Texts) []string {
	if i, found := find(list, image, by); found {
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// Sort sorts a list in place, and leaves out timers that are there already.
func Sort(list []string, by Texts) []string {
	slices.SortFunc(list, func(a, b string) int { return compare(a, b, by) })
	return slices.Compact(list)
}

func find(list []string, image string, by Texts) (at int, found bool) {
	return slices.BinarySearchFunc(list, image, func(a, b string) int { return compare(a, b, by) })
}

func compare(a, b string, by Texts) int {
	if a == b {
		return 0
	}
	if order := strings.Compare(by.TypedText([]byte(a)), by.TypedText([]byte(b))); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// Append writes a list behind b.
func Append(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, t := range list {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

// Read reads what Append has written, and returns what comes after it. The bytes are those of a
// local state, which only this process has written: there is nothing to be refused.
func Read(b []byte) (list []string, rest []byte) {
	count, n := binary.Uvarint(b)
	b = b[n:]
	for range count {
		length, n := binary.Uvarint(b)
		list = append(list, string(b[n:n+int(length)]))
		b = b[n+int(length):]
	}
	return list, b
}
