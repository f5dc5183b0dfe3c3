package saved

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers/shim"
)

// State is what is needed to go on with a check. As a file it is a line with its version, a line of
// JSON with the fields, the state of the search, and the SHA-256 sum of all before it.
type State struct {
	Asked      json.RawMessage  `json:"asked"` // how the check was asked for, in the words of who asked
	Build      string           `json:"build"` // hash of the program
	Counts     execution.Counts `json:"counts"`
	Executions int              `json:"executions"`
	Limited    string           `json:"limited,omitempty"`
	// Contradiction is what ended scope auto: the check has started over in group scope.
	Contradiction  string       `json:"contradiction,omitempty"`
	Violations     []Violation  `json:"violations,omitempty"`
	Reads          []shim.Read  `json:"reads,omitempty"` // of the time and of random numbers, by the peers
	Uninstrumented []string     `json:"blind,omitempty"` // their processes of which that is not known
	Dialled        *dials.Notes `json:"dialled,omitempty"`
	// CacheBytes is the length of the file of the I/O cache. What follows there was not saved.
	CacheBytes int64  `json:"cache_bytes"`
	Search     []byte `json:"-"` // of explore.Search.Save
}

// Violation is a violation that was kept: running its schedule again gives the rest.
type Violation struct {
	Schedule []model.Action `json:"schedule"`
	// EarlyTimers is how often the clock could advance early in it.
	EarlyTimers int      `json:"early_timers,omitempty"`
	Hits        []bool   `json:"hits,omitempty"`
	Tests       []string `json:"tests,omitempty"`
	// Executions that ended with it, if several violations are looked for.
	Executions int `json:"executions,omitempty"`
}

// A new version is needed whenever an older program would misread the state.
const (
	stateTitle   = "tandem run, version "
	stateVersion = 3
	maxState     = 1 << 30 // bytes
)

// encode returns an error if the state is larger than a later Open would read.
func (s *State) encode() ([]byte, error) {
	fields, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data := fmt.Appendf(nil, "%s%d\n%s\n", stateTitle, stateVersion, fields)
	data = append(data, s.Search...)
	if len(data) > maxState-sha256.Size {
		return nil, fmt.Errorf("the state of the search has %d bytes, and at most %d can be saved",
			len(data), maxState)
	}
	return seal(data), nil
}

// seal appends the checksum. The sum covers the title, too.
func seal(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// decodeState reads what encode has written, and nothing else. Unknown fields are errors: a state
// of another build may mean something that would be lost.
func decodeState(data []byte) (*State, error) {
	title, rest, found := bytes.Cut(data, []byte("\n"))
	number, isRun := strings.CutPrefix(string(title), stateTitle)
	if !found || !isRun {
		return nil, fmt.Errorf("this is no saved run: name another one")
	}
	if version, err := strconv.Atoi(number); err != nil || version != stateVersion {
		return nil, fmt.Errorf("it is of version %.20s, and this program reads version %d: check the "+
			"program from the beginning", number,
			stateVersion)
	}
	if len(rest) < sha256.Size {
		return nil, fmt.Errorf("it is cut off: check the program from the beginning")
	}
	end := len(data) - sha256.Size
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, fmt.Errorf("it is cut off or damaged: its checksum is wrong; check the program from " +
			"the beginning")
	}
	fields, search, _ := bytes.Cut(rest[:len(rest)-sha256.Size], []byte("\n"))
	s := &State{}
	decoder := json.NewDecoder(bytes.NewReader(fields))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if s.CacheBytes < 0 || s.Executions < 0 || s.Counts.Elapsed < 0 || s.Counts.Elapsed > maxElapsed {
		return nil, fmt.Errorf("it is damaged: a count is negative or too large; check the program " +
			"from the beginning")
	}
	s.Search = search
	return s, nil
}

// maxElapsed bounds what a check can have taken.
const maxElapsed = 100 * 365 * 24 * time.Hour
