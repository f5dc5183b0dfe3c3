package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// Recording is a counterexample as a file: all that "tandem replay" needs to run it again without
// the peers. The file is a line of JSON for each part, and a last line with the SHA-256 sum of
// the lines before it:
//
//	{"tandem_recording":1,"package":"./examples/scpto",...}
//	{"choose":{"goroutine":"1","choice":0}}
//	{"exchange":{"input":{"kind":"connect","conn":0,"addr":"127.0.0.1:2222"}}}
//	{"place":{"parent":-1,"sent":["start"],"starts":1}}
//	{"left_out":17}
//	{"expect":{"outcome":"panic","event_log":"9f86d081..."}}
//	{"sha256":"2c26b46b..."}
type Recording struct {
	Program   Program
	Schedule  []Chosen
	Exchanges []Exchange
	Cache     *CacheTree // that the execution was found with; nil: it is not known
	Expect    Expectation
}

// Program is what was run, in what surroundings.
type Program struct {
	Package   string          `json:"package"`
	Tests     bool            `json:"tests,omitempty"` // it is the tests of the package that are run
	Args      []string        `json:"args,omitempty"`
	Env       []string        `json:"env,omitempty"`       // "KEY=value"
	Directory string          `json:"directory,omitempty"` // working directory of the SUT
	World     sut.Environment `json:"world,omitzero"`
	// there were some, whether or not it connected to them
	Peers       bool     `json:"peers,omitempty"`
	Backend     string   `json:"backend,omitempty"`     // what took checkpoints of the peers
	Preemptible []string `json:"preemptible,omitempty"` // packages in which goroutines were preempted
	Races       []string `json:"races,omitempty"`       // packages in which data races were looked for
	Tags        []string `json:"tags,omitempty"`        // of the build
	GoVersion   string   `json:"go_version"`
	Build       string   `json:"build"` // hash of the binary; another binary may take another path
}

// Chosen is one decision of the schedule.
type Chosen struct {
	Goroutine uint64 `json:"goroutine,string"` // its place in the spawn tree, hashed; 0 is the clock
	Choice    int    `json:"choice"`           // which alternative of its operation
	// What it stood for: what is done, by which function, and where. Recordings of before do not
	// have it. Nothing of it is needed to run the schedule again.
	Operation string `json:"op,omitempty"`
	Function  string `json:"in,omitempty"` // the program's own that performs it
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// Same reports whether two choices stand for the same step, wherever its line is. The recorded one
// may be of a recording of before, which knows less.
func (c Chosen) Same(now Chosen) bool {
	return c.Goroutine == now.Goroutine && c.Choice == now.Choice &&
		(c.Operation == "" || c.Operation == now.Operation && c.Function == now.Function)
}

// Parting is where a program that has changed leaves the way that was recorded.
type Parting struct {
	Step          int    // as reports count them, from 1 on
	Recorded, Now string // what was done there, and what is instead, in words
}

// String says it in a line.
func (p Parting) String() string {
	return fmt.Sprintf("parted at step %d; recorded: %s; now: %s", p.Step, p.Recorded, p.Now)
}

// Exchange is one input to the peers and all that they did in reaction.
type Exchange struct {
	Input      model.Input      `json:"input"`
	Refused    int              `json:"refused,omitempty"` // errno of a connect or listen
	Opened     []Opening        `json:"opened,omitempty"`
	Deliveries []model.Delivery `json:"deliveries,omitempty"`
	Ended      []Ending         `json:"ended,omitempty"`
	Clients    int              `json:"clients,omitempty"` // how many are left
	Failure    string           `json:"failure,omitempty"` // why the end of one ends the execution
	Wrote      []Wrote          `json:"wrote,omitempty"`
	Unheard    bool             `json:"unheard,omitempty"` // the peers may have written more
	// Time is, of a pass, how far it has gone. Recordings of before have none.
	Time *PassedTime `json:"time,omitempty"`
}

// PassedTime is how far time has gone for the peers, in nanoseconds.
type PassedTime struct {
	Passed time.Duration `json:"passed"`
	// no timer of theirs will be due soon enough to be waited for
	Idle bool          `json:"idle,omitempty"`
	Tie  bool          `json:"tie,omitempty"`  // one is due together with the program's next
	Due  time.Duration `json:"due,omitempty"`  // from then on, of the first timer that was not waited for
	Peer string        `json:"peer,omitempty"` // whose that is
}

// Wrote is what a peer wrote to its standard output and error: the end of it.
type Wrote struct {
	Peer string `json:"peer"`
	Text []byte `json:"text"`
}

// Opening is a connection that a peer has opened, the numbers being one after the other.
type Opening struct {
	Conn     int `json:"conn"`
	Listener int `json:"listener"`
}

// Ending is the end of a peer.
type Ending struct {
	Peer   string `json:"peer"`
	Status int    `json:"status"` // as wait(2) has it
}

// Expectation is what the replay has to show.
type Expectation struct {
	Outcome  string `json:"outcome"`   // "panic", "deadlock"
	EventLog string `json:"event_log"` // hash of the event log
	// Steps is in recordings of before. Nobody looks at it.
	Steps string `json:"steps,omitempty"`
}

// Versions of the format. The later one has a cache; what has none is written as the earlier one.
// Files of other versions are refused.
const (
	version      = 1
	versionCache = 2
)

// maxRecording bounds the size of a recording's file, in bytes.
const maxRecording = 256 << 20

// part is a line of the file: exactly one of its fields is set.
type part struct {
	Choose   *Chosen      `json:"choose,omitempty"`
	Exchange *Exchange    `json:"exchange,omitempty"`
	Place    *CachePlace  `json:"place,omitempty"`
	LeftOut  *int         `json:"left_out,omitempty"`
	Expect   *Expectation `json:"expect,omitempty"`
	Sum      string       `json:"sha256,omitempty"`
}

// header is the first line.
type header struct {
	Version int `json:"tandem_recording"`
	Program
}

// Save writes a recording to path, completely or not at all: a file that was there before is
// replaced in one step. A recording that Load would refuse is an error.
func Save(path string, r *Recording) error {
	return save(path, r.validateFile, func() ([]byte, error) { return encode(r) })
}

// save writes what is valid.
func save(path string, validate func() error, encode func() ([]byte, error)) error {
	err := validate()
	var text []byte
	if err == nil {
		text, err = encode()
	}
	if err == nil {
		err = writeAtomically(path, text)
	}
	if err != nil {
		return fmt.Errorf("save recording %s: %w", path, err)
	}
	return nil
}

// Load reads a recording of one program. A file that is none, is damaged, cut off, or of another
// version is an error that says so.
func Load(path string) (*Recording, error) {
	one, several, err := LoadAny(path)
	if several != nil {
		return nil, fmt.Errorf("load recording %s: it is of several programs, which tandem replay runs "+
			"again: name one of a single program", path)
	}
	return one, err
}

// readBounded reads a file that may come from somebody else, and so may be of any size.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRecording+1))
	if err == nil && len(text) > maxRecording {
		err = fmt.Errorf("%s: larger than %d MiB, so it is no recording: name another "+
			"file", path, maxRecording>>20)
	}
	return text, err
}

// encode is the text of a file.
func encode(r *Recording) ([]byte, error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	// Earlier versions of Tandem can read what has no cache.
	format := version
	if r.Cache != nil {
		format = versionCache
	}
	err := lines.Encode(header{format, r.Program})
	for i := range r.Schedule {
		err = errors.Join(err, lines.Encode(part{Choose: &r.Schedule[i]}))
	}
	for i := range r.Exchanges {
		err = errors.Join(err, lines.Encode(part{Exchange: &r.Exchanges[i]}))
	}
	// The cache is no part of what a replay does, so it comes after that.
	if c := r.Cache; c != nil {
		for i := range c.Places {
			err = errors.Join(err, lines.Encode(part{Place: &c.Places[i]}))
		}
		err = errors.Join(err, lines.Encode(part{LeftOut: &c.LeftOut}))
	}
	err = errors.Join(err, lines.Encode(part{Expect: &r.Expect}))
	return sealed(&text, err)
}

// sealed is the text of a file with its last line, which is the sum. A text that Load would find
// too large is an error: the sum fits into the 1024 bytes that are kept free. An error of the lines
// before stays.
func sealed(text *bytes.Buffer, err error) ([]byte, error) {
	if err == nil && text.Len() > maxRecording-1024 {
		err = fmt.Errorf("%s, more than a recording may have", textutil.CountOf(text.Len(), "byte"))
	}
	if err != nil {
		return nil, err
	}
	err = json.NewEncoder(text).Encode(part{Sum: sumOf(text.Bytes())})
	return text.Bytes(), err
}

// sumOf is the SHA-256 sum of the lines before the last one, in hexadecimal. It finds damage, and
// does not protect from anybody.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decodeBody reads what checkFrame has left of a file. An error names the line.
func decodeBody(body []byte) (*Recording, error) {
	lines := bufio.NewReader(bytes.NewReader(body))
	var first header
	if err := decodeLine(lines, &first); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	r := &Recording{Program: first.Program}
	expectations := 0
	for number := 2; ; number++ {
		var p part
		err := decodeLine(lines, &p)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = r.add(p, &expectations)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if expectations != 1 {
		return nil, fmt.Errorf("%s of what the replay has to show, want one",
			textutil.CountOf(expectations, "line"))
	}
	return r, r.validateFile()
}

// checkFrame checks that text is a whole recording of a known format, and returns it without the
// sum.
func checkFrame(text []byte) (body []byte, format int, err error) {
	firstLine, _, _ := bytes.Cut(text, []byte("\n"))
	var mark struct {
		Version int `json:"tandem_recording"`
	}
	if !bytes.HasPrefix(text, []byte(`{"tandem_recording":`)) {
		return nil, 0, errors.New("this is no recording of Tandem")
	}
	if err := json.Unmarshal(firstLine, &mark); err != nil {
		return nil, 0, errors.New("the recording is damaged or cut off in its first line; check the " +
			"program again")
	}
	if mark.Version < version || mark.Version > versionNodes {
		return nil, 0, fmt.Errorf("the recording has format %d, this Tandem reads formats %d to %d; check "+
			"the program again", mark.Version, version, versionNodes)
	}
	whole, ended := bytes.CutSuffix(text, []byte("\n"))
	start := bytes.LastIndexByte(whole, '\n') + 1
	var last part
	if !ended || json.Unmarshal(whole[start:], &last) != nil || last.Sum == "" {
		return nil, 0, errors.New("the recording is cut off: its last line is not the sum; check the " +
			"program again")
	}
	if last.Sum != sumOf(text[:start]) {
		return nil, 0, errors.New("the recording is damaged: its sum is wrong; check the program again")
	}
	return text[:start], mark.Version, nil
}

// decodeLine reads one line of JSON into v, which must have a place for everything in it. The end
// of the text is io.EOF. Fields that are not known are errors, since a recording with them means
// something that this Tandem would not do.
func decodeLine(lines *bufio.Reader, v any) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err // checkFrame has seen to it that the last line is complete
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	// An empty line is not the end.
	if err := decoder.Decode(v); err == io.EOF {
		return errors.New("an empty line")
	} else if err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

// add takes over what a line holds. It counts the expectations, of which there must be one.
func (r *Recording) add(p part, expectations *int) error {
	switch {
	case p == part{Choose: p.Choose} && p.Choose != nil:
		r.Schedule = append(r.Schedule, *p.Choose)
	case p == part{Exchange: p.Exchange} && p.Exchange != nil:
		r.Exchanges = append(r.Exchanges, *p.Exchange)
	case p == part{Place: p.Place} && p.Place != nil:
		c := r.cache()
		c.Places = append(c.Places, *p.Place)
	case p == part{LeftOut: p.LeftOut} && p.LeftOut != nil:
		r.cache().LeftOut += *p.LeftOut
	case p == part{Expect: p.Expect} && p.Expect != nil:
		r.Expect = *p.Expect
		*expectations++
	default:
		return errors.New("want exactly one of choose, exchange, place, left_out and expect")
	}
	return nil
}

// cache is the cache, which is made with its first line.
func (r *Recording) cache() *CacheTree {
	if r.Cache == nil {
		r.Cache = &CacheTree{}
	}
	return r.Cache
}

// validateFile checks what is in every file, and in no schedule: what is known of one build.
func (r *Recording) validateFile() error {
	if r.Program.Build == "" || r.Expect.EventLog == "" {
		return errors.New("the build and the hash of its event log must be named")
	}
	return r.validate()
}

// validate checks what the types leave open, in recordings that are read or written. Files come
// from elsewhere: a package with a dash in front would be taken for a flag of the go command. JSON
// cannot hold bytes that are no UTF-8, and would replace them without an error.
func (r *Recording) validate() error {
	if r.Program.Package == "" || r.Program.GoVersion == "" {
		return errors.New("package and Go version must be named")
	}
	if strings.HasPrefix(r.Program.Package, "-") {
		return fmt.Errorf("package %q, want one that does not begin with a dash", r.Program.Package)
	}
	for _, text := range slices.Concat(r.Program.Args, r.Program.Env, r.Program.Preemptible,
		r.Program.Races, r.Program.Tags) {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q is not valid UTF-8, a recording cannot hold it", text)
		}
	}
	if r.Expect.Outcome == "" {
		return errors.New("the outcome must be named")
	}
	for i, chosen := range r.Schedule {
		if chosen.Choice < 0 || chosen.Choice >= maxAlternatives {
			return fmt.Errorf("choice %d: alternative %d, want 0 or more, and less than %d", i, chosen.Choice,
				maxAlternatives)
		}
	}
	for i, exchange := range r.Exchanges {
		if err := exchange.validate(); err != nil {
			return fmt.Errorf("exchange %d: %w", i, err)
		}
	}
	return r.Cache.validate(len(r.Exchanges))
}

// maxAlternatives is how many alternatives an operation can have.
const maxAlternatives = 1 << 16

// validate checks what the types leave open: what belongs to one kind of input only.
func (e Exchange) validate() error {
	opens := e.Input.Opens()
	switch e.Input.Kind {
	case model.Connect, model.Listen, model.Send, model.Shutdown, model.Close, model.Pass:
	default:
		return fmt.Errorf("input %q, want connect, listen, send, shutdown, close or pass", e.Input.Kind)
	}
	switch {
	case e.Input.Conn < 0:
		return fmt.Errorf("connection %d, want 0 or more", e.Input.Conn)
	case opens != (e.Input.Addr != ""):
		return fmt.Errorf("%s with address %q: connect and listen have one, the others have none",
			e.Input.Kind, e.Input.Addr)
	case (e.Input.Kind == model.Send) != (len(e.Input.Data) > 0):
		return fmt.Errorf("%s of %d bytes: send has some, the others have none", e.Input.Kind,
			len(e.Input.Data))
	case e.Refused < 0 || e.Refused > 0 && !opens:
		return fmt.Errorf("%s refused with error %d", e.Input.Kind, e.Refused)
	}
	if t := e.Time; e.Input.Most < 0 || e.Input.Kind != model.Pass && (t != nil || e.Input.Most != 0) ||
		t != nil && (t.Passed < 0 || t.Due < 0) {
		return fmt.Errorf("%s, which takes %v at most: only pass does, with no negative time", e.Input.Kind,
			e.Input.Most)
	}
	for i, o := range e.Opened {
		if o.Conn < 0 || o.Conn != e.Opened[0].Conn+i || o.Listener < 0 {
			return fmt.Errorf("connection %d is opened at listener %d, want numbers one after the other",
				o.Conn, o.Listener)
		}
	}
	for _, d := range e.Deliveries {
		if d.Conn < 0 || d.End > model.Reset {
			return fmt.Errorf("delivery on connection %d with end %q, want eof, reset or nothing", d.Conn,
				d.End)
		}
	}
	return nil
}

// writeAtomically puts a complete file in the place of path, or of what that links to. What is no
// file, such as /dev/stdout, is written to. The temporary file is in the same directory, since a
// rename does not work across file systems. It is synced first: after a crash the old or the new
// file is there, and not an empty one.
func writeAtomically(path string, text []byte) (err error) {
	// A link stays a link, and its target is replaced.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeTo(path, text)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// writeTo writes to something that is no file, and so cannot be replaced.
func writeTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
