package sut

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// TestReaderAgrees: a reader that has read other logs, most of which begin alike, reads
// what a new one does, damage included.
func TestReaderAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := sharedForTests()
	s.MessageLength, s.StackLength, s.Outcome = 0, 0, abi.OutcomeCompleted
	defer func() { s.OnlyEnd = 0 }()
	var reader logReader
	var records []abi.Record
	damaged, alike := 0, 0
	for range 5000 {
		records = records[:random.IntN(len(records)+1)]
		for range random.IntN(8) {
			records = append(records, randomRecord(random))
		}
		s.Records, s.OnlyEnd = uint32(copy(s.Record[:], records)), flag(random.IntN(10) == 0)
		alike += commonPrefix(reader.records, records)
		want, wantError := new(logReader).read(s)
		got, err := reader.read(s)
		if (err == nil) != (wantError == nil) || err != nil && err.Error() != wantError.Error() {
			t.Fatalf("error %v, want %v", err, wantError)
		}
		if err != nil {
			damaged++
			continue
		}
		if !slices.Equal(want.Events, got.Events) {
			t.Fatalf("%d records: %s", len(records), cmp.Diff(want.Events, got.Events))
		}
	}
	if damaged < 100 || alike < 1000 {
		t.Errorf("%d logs were damaged, %d records were those of the log before: the test says little",
			damaged, alike)
	}
}

func randomRecord(random *rand.Rand) abi.Record {
	kinds := []uint8{abi.RecordStep, abi.RecordStep, abi.RecordAccess, abi.RecordTick, abi.RecordEnabled,
		abi.RecordPending, abi.RecordNeed, abi.RecordIntended, abi.RecordPartner}
	return abi.Record{Kind: kinds[random.IntN(len(kinds))], Number: 1 << 16, A: random.Uint64N(3),
		B: random.Uint64N(3)}
}

// TestCommonPrefix tries every byte of a record.
func TestCommonPrefix(t *testing.T) {
	a := make([]abi.Record, 200)
	for i := range a {
		for at := range unsafe.Sizeof(abi.Record{}) {
			b := slices.Clone(a)
			*(*byte)(unsafe.Add(unsafe.Pointer(&b[i]), at)) = 1
			if got := commonPrefix(a, b[:190]); got != min(i, 190) {
				t.Errorf("the common prefix has %d records where byte %d of number %d differs", got, at, i)
			}
		}
	}
}
