package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// Schedule is a recording as a string, which a test gives to tandem.Replay. It stands for a program
// that may change: what is known of one build only is left out.
//
// It consists of the prefix and, in base64 (RFC 4648, section 5, without padding), of a sum and a
// text. The sum is CRC-32 (IEEE), big endian. It is that of the text, which is compressed (RFC
// 1951) with a dictionary. The text is a scheduleText as JSON.
type Schedule string

// SchedulePrefix begins each Schedule. The digit is the version of the format.
const SchedulePrefix = "tandem1."

// MaxPrinted is how many bytes a Schedule may have to be printed with a failure. What the peers
// have answered is a part of it, so it can be long.
const MaxPrinted = 2000

// maxSchedule bounds the text of a schedule, in bytes.
const maxSchedule = 16 << 20

// scheduleDictionary is what texts of schedules are likely to have. It is a part of the format.
const scheduleDictionary = `"operations":["atomic store","add to","wait for","receive from channel",` +
	`"send to channel","select","load","store","resume","exit","read lock","read unlock","start","lock",` +
	`"unlock"],"goroutines":[1,"functions":[" ","_testmain.go main.main","testing/testing.go ` +
	`testing.(*T).Run","sync/waitgroup.go sync.(*WaitGroup).Go.func1","testing/testing.go ` +
	`testing.tRunner","main.main.func1.deferwrap1"],"outcome":"assertion failed","outcome":"data race",` +
	`"outcome":"deadlock","outcome":"panic","outcome":"exit","args":["-test.v=test2json",` +
	`"-test.paniconexit0","-test.timeout=0","-test.parallel=65536","-test.run=^Test$"],"dir":".",` +
	`"world":{"disk":67108864,"hostname":"tandem","memory":1073741824,"start":17,"signal_limit":1},` +
	`"open":["main","/..."],"races":["direct"],"go":"go1.26.0","steps":{"g":[0,0,1,1,0],` +
	`"c":[0,0,0,0,0,0],"o":[0,1,2,3],"f":[0,1,2,3],"l":[10,11,12]}}{"package":"","tests":true,`

// scheduleText is the text of a schedule. Steps are columns of numbers, which compress well.
type scheduleText struct {
	Package     string          `json:"package"`
	Tests       bool            `json:"tests,omitempty"`
	Args        []string        `json:"args,omitempty"`
	Env         []string        `json:"env,omitempty"`
	Dir         string          `json:"dir,omitempty"` // from the package to where the program runs
	World       sut.Environment `json:"world,omitzero"`
	Peers       bool            `json:"peers,omitempty"`
	Backend     string          `json:"backend,omitempty"`
	Preemptible []string        `json:"open,omitempty"`
	Races       []string        `json:"races,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Go          string          `json:"go"`
	Outcome     string          `json:"outcome"`
	Goroutines  []uint64        `json:"goroutines,omitempty"`
	Functions   []string        `json:"functions,omitempty"`  // each after its file and a blank
	Operations  []string        `json:"operations,omitempty"` // in words
	Steps       scheduleSteps   `json:"steps"`
	Exchanges   []Exchange      `json:"exchanges,omitempty"`
}

// scheduleSteps has an entry for each step in each column: places in the lists of goroutines,
// operations and functions, the alternative, and the line.
type scheduleSteps struct {
	Goroutine []int `json:"g,omitempty"`
	Choice    []int `json:"c,omitempty"`
	Operation []int `json:"o,omitempty"`
	Function  []int `json:"f,omitempty"`
	Line      []int `json:"l,omitempty"`
}

// NewSchedule is a recording as a string. importPath is how its package is named wherever its
// module is, and dir the way from the package to the directory in which the program ran. An error
// says why the recording cannot be one: it is too long, or has what strings of JSON cannot hold.
func NewSchedule(r *Recording, importPath, dir string) (Schedule, error) {
	p := r.Program
	t := scheduleText{
		Package: importPath, Tests: p.Tests, Args: p.Args, Env: p.Env, Dir: dir, World: p.World,
		Peers: p.Peers, Backend: p.Backend, Preemptible: p.Preemptible, Races: p.Races, Tags: p.Tags,
		Go: p.GoVersion, Outcome: r.Expect.Outcome, Exchanges: r.Exchanges,
	}
	for _, c := range r.Schedule {
		t.Steps.Goroutine = append(t.Steps.Goroutine, placeIn(&t.Goroutines, c.Goroutine))
		t.Steps.Choice = append(t.Steps.Choice, c.Choice)
		t.Steps.Operation = append(t.Steps.Operation, placeIn(&t.Operations, c.Operation))
		t.Steps.Function = append(t.Steps.Function, placeIn(&t.Functions, c.File+" "+c.Function))
		t.Steps.Line = append(t.Steps.Line, c.Line)
	}
	text, err := json.Marshal(t)
	if err == nil && len(text) > maxSchedule {
		err = fmt.Errorf("the text of the schedule has %d bytes, and %d is the limit", len(text), maxSchedule)
	}
	if err != nil {
		return "", err
	}
	packed := bytes.NewBuffer(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text)))
	// The level is in range, and writes to a buffer do not fail.
	w, _ := flate.NewWriterDict(packed, flate.BestCompression, []byte(scheduleDictionary))
	w.Write(text)
	w.Close()
	s := Schedule(SchedulePrefix + base64.RawURLEncoding.EncodeToString(packed.Bytes()))
	_, err = s.Recording() // what could not be read must not be given away
	return s, err
}

// placeIn is the place of a value in a list, to which it is added if it is not there.
func placeIn[T comparable](list *[]T, value T) int {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return at
}

// Recording is the recording that a schedule stands for. It is of no build, and its directory is
// relative to that of the package. A string that is no schedule, or a damaged one, is an error.
func (s Schedule) Recording() (*Recording, error) {
	packed, ok := strings.CutPrefix(string(s), SchedulePrefix)
	if !ok {
		return nil, fmt.Errorf("%.20q is no schedule of this Tandem: give one that begins with %s", string(s),
			SchedulePrefix)
	}
	// Without Strict, the last character could be another one.
	data, err := base64.RawURLEncoding.Strict().DecodeString(packed)
	if err != nil || len(data) < crc32.Size || strings.ContainsAny(packed, "\r\n") {
		return nil, errors.New("the schedule is damaged or cut off: copy the whole string")
	}
	text, err := inflate(data[crc32.Size:])
	if err != nil || crc32.ChecksumIEEE(text) != binary.BigEndian.Uint32(data) {
		return nil, errors.New("the schedule is damaged or cut off: its sum is wrong; copy the whole string")
	}
	// A field that is not known means something that this Tandem would not do.
	var t scheduleText
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("the schedule: %w; give one that this Tandem has printed", err)
	}
	r, err := t.recording()
	if err != nil {
		return nil, fmt.Errorf("the schedule: %w; give one that this Tandem has printed", err)
	}
	return r, nil
}

// inflate decompresses a text that has a bound, and all of whose bytes count.
func inflate(data []byte) ([]byte, error) {
	in := bytes.NewReader(data)
	r := flate.NewReaderDict(in, []byte(scheduleDictionary))
	text, err := io.ReadAll(io.LimitReader(r, maxSchedule+1))
	if err == nil && (len(text) > maxSchedule || in.Len() > 0) {
		err = errors.New("too long")
	}
	return text, err
}

// recording checks what the types leave open.
func (t *scheduleText) recording() (*Recording, error) {
	r := &Recording{
		Program: Program{
			Package: t.Package, Tests: t.Tests, Args: t.Args, Env: t.Env, Directory: t.Dir, World: t.World,
			Peers: t.Peers, Backend: t.Backend, Preemptible: t.Preemptible, Races: t.Races, Tags: t.Tags,
			GoVersion: t.Go,
		},
		Expect: Expectation{Outcome: t.Outcome}, Exchanges: t.Exchanges,
	}
	s, n := t.Steps, len(t.Steps.Goroutine)
	for _, column := range [][]int{s.Choice, s.Operation, s.Function, s.Line} {
		if len(column) != n {
			return nil, errors.New("its columns do not have the same length")
		}
	}
	// Places in lists are the only numbers that validate does not see.
	for i := range n {
		c := Chosen{Choice: s.Choice[i], Line: s.Line[i]}
		var source string
		if !takeFrom(t.Goroutines, s.Goroutine[i], &c.Goroutine) ||
			!takeFrom(t.Operations, s.Operation[i], &c.Operation) ||
			!takeFrom(t.Functions, s.Function[i], &source) {
			return nil, fmt.Errorf("step %d names what is not listed", i+1)
		}
		c.File, c.Function, _ = strings.Cut(source, " ")
		r.Schedule = append(r.Schedule, c)
	}
	return r, r.validate()
}

// takeFrom takes an element of a list, if it is there.
func takeFrom[T any](list []T, at int, to *T) bool {
	if at < 0 || at >= len(list) {
		return false
	}
	*to = list[at]
	return true
}
