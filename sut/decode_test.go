package sut

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// sharedForTests is big, so that there is only one; users fill in what they need.
var sharedForTests = sync.OnceValue(func() *abi.Shared { return new(abi.Shared) })

// sharedLog puts data where a worker writes its log: the numbers of records, of bytes
// of the message and of calls of the stack, the outcome, and then n records.
func sharedLog(data []byte) (s *abi.Shared, n int) {
	const numbers, size = 16, int(unsafe.Sizeof(abi.Record{}))
	var head [numbers]byte
	records := data[copy(head[:], data):]
	s = sharedForTests()
	s.Records, s.MessageLength = binary.LittleEndian.Uint32(head[0:]), binary.LittleEndian.Uint32(head[4:])
	s.StackLength, s.Outcome = uint64(binary.LittleEndian.Uint32(head[8:])),
		binary.LittleEndian.Uint32(head[12:])
	n = min(len(records)/size, 1000)
	for i := range n {
		copy((*[size]byte)(unsafe.Pointer(&s.Record[i]))[:], records[i*size:])
	}
	s.Record[n] = abi.Record{} // which no log has
	return s, n
}

// FuzzLog reads logs that no worker writes.
func FuzzLog(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s, n := sharedLog(data)
		log, err := new(logReader).read(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "what the worker tells is damaged: ") {
				t.Errorf("the error is %v", err)
			}
			return
		}
		if len(log.Events) > n || len(log.Message) > abi.MessageBytes || len(log.Stack) > len(s.Stack) {
			t.Errorf("%d events of %d records, %d bytes of message, %d calls", len(log.Events), n,
				len(log.Message), len(log.Stack))
		}
		for _, e := range log.Events {
			if strings.HasPrefix(e.Operation.String(), "operation ") || e.Kind == Stepped && e.Choices == 0 {
				t.Errorf("an impossible event: %+v", e)
			}
		}
		if strings.HasPrefix(log.Outcome.String(), "outcome ") {
			t.Errorf("an impossible outcome: %v", log.Outcome)
		}
	})
}

// FuzzInput reads requests that no worker makes: the data is their header, and then
// what they send.
func FuzzInput(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		const size = int(unsafe.Sizeof(abi.ExchangeHeader{}))
		s := sharedForTests()
		s.Exchange = abi.ExchangeHeader{}
		n := copy((*[size]byte)(unsafe.Pointer(&s.Exchange))[:], data)
		sent := copy(s.Data[:], data[n:])
		in, err := readInput(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "what the worker tells is damaged: ") {
				t.Errorf("the error is %v", err)
			}
			return
		}
		opens := in.Opens()
		if !opens && (in.Kind < model.Connect || in.Kind > model.Close) || in.Conn < 0 && !opens ||
			(in.Addr != "") != opens ||
			in.Behaviour < 0 || in.Behaviour >= maxBehaviours || in.Behaviour > 0 && !opens {
			t.Errorf("an impossible input: %+v", in)
		}
		if k := min(sent, len(in.Data)); len(in.Data) > abi.ExchangeBytes ||
			!bytes.Equal(in.Data[:k], data[n:n+k]) {
			t.Errorf("%d bytes, not those that were sent", len(in.Data))
		}
	})
}

// TestDamageIsNamed has one log for each thing that can be wrong, by the names of
// the seeds of the fuzz target.
func TestDamageIsNamed(t *testing.T) {
	for seed, want := range map[string]string{
		"one-step": "", "tick-and-access": "",
		"too-many-records": "records of at most", "long-message": "a message has",
		"long-stack": "a stack has", "unknown-outcome": "outcome 255",
		"unknown-kind": "record 0 of 1, its kind is 200", "unknown-operation": "its operation is 255",
		"unknown-access":         "its kind of access is 9",
		"impossible-alternative": "it takes alternative 3 of 2",
		"access-outside":         "it belongs to no transition",
		"early-tick-outside":     "record 0 of 3, it belongs to no transition",
		"need-of-nothing":        "it belongs to no operation",
		"intention-of-nobody":    "it belongs to no pending operation",
	} {
		text, err := os.ReadFile(filepath.Join("testdata/fuzz/FuzzLog", seed))
		if err != nil {
			t.Fatal(err)
		}
		_, quoted, _ := strings.Cut(string(text), "[]byte(")
		data, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(quoted), ")"))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := sharedLog([]byte(data))
		_, err = new(logReader).read(s)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", seed, err, want)
		}
	}
}
