package sut

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// TestReaderAgrees: a reader that has read other logs, most of which begin alike, reads
// what a new one does, damage included.
func TestReaderAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := sharedForTests()
	s.messageLength, s.stackLength, s.outcome = 0, 0, outcomeCompleted
	defer func() { s.onlyEnd = 0 }()
	var reader logReader
	var records []record
	damaged, alike := 0, 0
	for range 5000 {
		records = records[:random.IntN(len(records)+1)]
		for range random.IntN(8) {
			records = append(records, randomRecord(random))
		}
		s.records, s.onlyEnd = uint32(copy(s.record[:], records)), flag(random.IntN(10) == 0)
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
		t.Errorf("%d logs were damaged, %d records were those of the log before: the test says little", damaged, alike)
	}
}

func randomRecord(random *rand.Rand) record {
	kinds := []uint8{recordStep, recordStep, recordAccess, recordTick, recordEnabled, recordPending, recordNeed, recordIntended, recordPartner}
	return record{kind: kinds[random.IntN(len(kinds))], number: 1 << 16, a: random.Uint64N(3), b: random.Uint64N(3)}
}

// TestCommonPrefix tries every byte of a record.
func TestCommonPrefix(t *testing.T) {
	a := make([]record, 200)
	for i := range a {
		for at := range unsafe.Sizeof(record{}) {
			b := slices.Clone(a)
			*(*byte)(unsafe.Add(unsafe.Pointer(&b[i]), at)) = 1
			if got := commonPrefix(a, b[:190]); got != min(i, 190) {
				t.Errorf("the common prefix has %d records where byte %d of number %d differs", got, at, i)
			}
		}
	}
}
