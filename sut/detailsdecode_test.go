package sut

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// FuzzDetails reads details that no worker notes: the data are the records.
func FuzzDetails(f *testing.F) {
	const size = int(unsafe.Sizeof(abi.Record{}))
	seed := make([]byte, 4*size)
	for _, first := range []uint8{abi.DetailStack, abi.DetailArrival} {
		for i, kind := range []uint8{first, abi.DetailCalls, abi.DetailChannel, abi.DetailText} {
			seed[i*size], seed[i*size+4] = kind, 3
		}
		f.Add(bytes.Clone(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &abi.SharedDetails{Want: 1, Count: uint32(min(len(data)/size, abi.MaxDetails))}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.Record[0])), int(s.Count)*size), data)
		d, err := decodeDetails(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "what the worker tells is damaged: detail ") {
				t.Errorf("the error is %v", err)
			}
			return
		}
		known := len(d.Arms) + len(d.Printed)
		for _, stack := range d.Stacks {
			known += (len(stack) + 3) / 4
		}
		for _, a := range d.Arrivals {
			known += 1 + (len(a.Stack)+3)/4
		}
		if known > int(s.Count) {
			t.Errorf("%d details of %d records", known, s.Count)
		}
	})
}

// TestCutDetails: lists that are cut off, since there was no more room, are as long as they are.
func TestCutDetails(t *testing.T) {
	s := &abi.SharedDetails{Count: 3}
	s.Record[0] = abi.Record{Kind: abi.DetailStack, A: 1, Number: 7}
	s.Record[1] = abi.Record{Kind: abi.DetailCalls, A: 10, B: 11, PC: 12, Open: 13}
	s.Record[2] = abi.Record{Kind: abi.DetailChannel, A: 2, B: 5, PC: 4, Flag: 1, Number: 9}
	d, err := decodeDetails(s)
	if err != nil {
		t.Fatal(err)
	}
	want := Channel{Cap: 5, Size: 4, Closed: true}
	if diff := cmp.Diff(want, d.Channels[2]); diff != "" {
		t.Errorf("the channel (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{10, 11, 12, 13}, d.Stacks[1]); diff != "" {
		t.Errorf("the stack (-want +got):\n%s", diff)
	}
	s.Count = abi.MaxDetails + 1
	if _, err := decodeDetails(s); err == nil || !strings.Contains(err.Error(), "details of at most") {
		t.Errorf("of too many the error is %v", err)
	}
}
