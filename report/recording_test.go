package report

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/golden"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tandem-mc/tandem/internal/model"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func example() *Recording {
	return &Recording{
		Program: Program{
			Package: "./examples/scpto", Args: []string{"-addr", "127.0.0.1:2222"}, Env: []string{"LANG=C"},
			Directory: "/src", Preemptible: []string{"example.com/..."}, GoVersion: "go1.26.0",
			Build: "c0ffee",
		},
		Schedule: []Chosen{
			{Goroutine: 1, Operation: "lock", Function: "main.main", File: "scpto/main.go", Line: 7},
			{Goroutine: 1<<64 - 1, Choice: 2}, {},
		},
		Exchanges: []Exchange{
			{Input: model.Input{Kind: model.Connect, Addr: "127.0.0.1:2222"},
				Deliveries: []model.Delivery{{Data: []byte("SSH-2.0-x\r\n")}}},
			{Input: model.Input{Kind: model.Connect, Conn: 1, Addr: "127.0.0.1:1"}, Refused: 111},
			{Input: model.Input{Kind: model.Send, Data: []byte{0, 0xff}},
				Deliveries: []model.Delivery{{Data: []byte("<&>")}, {Conn: 1, End: model.Reset}}},
			{Input: model.Input{Kind: model.Shutdown}, Deliveries: []model.Delivery{{End: model.EOF}}},
			{Input: model.Input{Kind: model.Pass}},
			{Input: model.Input{Kind: model.Close}, Unheard: true,
				Wrote: []Wrote{{"dropbear", []byte("Exit \xff\n")}}},
		},
		Expect: Expectation{Outcome: "panic", EventLog: "9f86d081"},
	}
}

// saved writes a recording and returns the path and the text of the file.
func saved(t *testing.T, r *Recording) (path string, text []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "counterexample")
	if err := Save(path, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, text
}

func TestSaveAndLoad(t *testing.T) {
	path, text := saved(t, example())
	golden.Equal(t, "recording.jsonl", string(text))
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), loaded); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

// TestSaveAndLoadTheCache: a recording with the I/O cache is of a later format.
func TestSaveAndLoadTheCache(t *testing.T) {
	r := example()
	r.Cache = exampleCache()
	path, text := saved(t, r)
	golden.Equal(t, "cache.jsonl", string(text))
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, loaded); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

func exampleCache() *CacheTree {
	return &CacheTree{LeftOut: 17, Places: []CachePlace{
		{Parent: -1, Sent: []string{"peers: start"}, Checkpoint: "memory", Restores: 2, Starts: 1},
		{Parent: 0, Sent: []string{"connect to 127.0.0.1:2222"}, Got: []string{"identification <x>"},
			Input: 1, Hits: 12},
		{Parent: 1, Sent: []string{"close"}, Hits: 3},
	}}
}

func TestSaveReplacesAFileAndLeavesNothingElse(t *testing.T) {
	path, _ := saved(t, example())
	other := example()
	other.Expect.Outcome = "deadlock"
	if err := Save(path, other); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil || loaded.Expect.Outcome != "deadlock" {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// TestSaveWhereNoFileIs: what is a link stays one, and what is no file is written to.
func TestSaveWhereNoFileIs(t *testing.T) {
	dir := t.TempDir()
	target, link, fifo := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, link),
		unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := Save(link, example()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	if _, err := Load(target); err != nil {
		t.Error(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Save(fifo, example()); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := reader.Read(first); err != nil || first[0] != '{' {
		t.Errorf("%q was written, %v", first, err)
	}
}

func TestSaveFailsWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	if err := Save(filepath.Join(dir, "absent", "file"), example()); err == nil {
		t.Error("saved in a directory that is not there")
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(dir, "taken"), example()); err == nil {
		t.Error("saved over a directory")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

func TestSaveRefusesWhatLoadWouldRefuse(t *testing.T) {
	tests := []struct {
		want  string
		spoil func(*Recording)
	}{
		{"package and Go version must be named", func(r *Recording) { r.Program.Package = "" }},
		{"the build and the hash of its event log", func(r *Recording) { r.Program.Build = "" }},
		{"package and Go version must be named", func(r *Recording) { r.Program.GoVersion = "" }},
		{`"\xff" is not valid UTF-8`, func(r *Recording) { r.Program.Args = []string{"\xff"} }},
		{"the outcome must be named", func(r *Recording) { r.Expect.Outcome = "" }},
		{"place 1 is below place 1", func(r *Recording) {
			r.Cache = exampleCache()
			r.Cache.Places[1].Parent = 1
		}},
		{"place 1 is below place -1", func(r *Recording) {
			r.Cache = exampleCache()
			r.Cache.Places[1].Parent = -1
		}},
		{"place 1 is that of input 7, and there are 6", func(r *Recording) {
			r.Cache = exampleCache()
			r.Cache.Places[1].Input = 7
		}},
		{"place 2 has a negative number", func(r *Recording) {
			r.Cache = exampleCache()
			r.Cache.Places[2].Hits = -1
		}},
		{"2009 places beside the counterexample", func(r *Recording) {
			r.Cache = exampleCache()
			r.Cache.Places = append(r.Cache.Places, make([]CachePlace, 2007)...)
		}},
		{"the build and the hash of its event log", func(r *Recording) { r.Expect.EventLog = "" }},
		{`package "-toolexec=x", want one that does not begin with a dash`,
			func(r *Recording) { r.Program.Package = "-toolexec=x" }},
		{"choice 1: alternative 4611686018427387904", func(r *Recording) { r.Schedule[1].Choice = 1 << 62 }},
		{"choice 1: alternative -1", func(r *Recording) { r.Schedule[1].Choice = -1 }},
		{`exchange 0: input "Kind(99)"`, func(r *Recording) { r.Exchanges[0].Input.Kind = 99 }},
		{"exchange 1: connection -1", func(r *Recording) { r.Exchanges[1].Input.Conn = -1 }},
		{`exchange 5: close with address "x"`, func(r *Recording) { r.Exchanges[5].Input.Addr = "x" }},
		{`exchange 0: connect with address ""`, func(r *Recording) { r.Exchanges[0].Input.Addr = "" }},
		{"exchange 2: send of 0 bytes", func(r *Recording) { r.Exchanges[2].Input.Data = nil }},
		{"exchange 5: close of 1 bytes", func(r *Recording) { r.Exchanges[5].Input.Data = []byte{1} }},
		{"exchange 5: close refused with error 5", func(r *Recording) { r.Exchanges[5].Refused = 5 }},
		{"exchange 1: connect refused with error -1", func(r *Recording) { r.Exchanges[1].Refused = -1 }},
		{`exchange 3: delivery on connection 0 with end "End(7)"`,
			func(r *Recording) { r.Exchanges[3].Deliveries[0].End = 7 }},
		{"exchange 3: delivery on connection -4",
			func(r *Recording) { r.Exchanges[3].Deliveries[0].Conn = -4 }},
	}
	for _, test := range tests {
		r := example()
		test.spoil(r)
		path := filepath.Join(t.TempDir(), "file")
		if err := Save(path, r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was written", test.want)
		}
		text, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		// The encoding cannot even hold bytes that are not UTF-8.
		if _, err := decode(text); err == nil && !strings.Contains(test.want, "UTF-8") {
			t.Errorf("%s: loaded", test.want)
		}
	}
}

// resum gives a changed body a valid sum.
func resum(body string) []byte { return []byte(body + `{"sha256":"` + sumOf([]byte(body)) + "\"}\n") }

func TestDecodeErrors(t *testing.T) {
	_, text := saved(t, example())
	lines := strings.SplitAfter(string(text), "\n")
	body := strings.Join(lines[:len(lines)-2], "")
	expect := lines[len(lines)-3]
	tests := []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "no recording of Tandem"},
		{"foreign", []byte("\x7fELF"), "no recording of Tandem"},
		{"other JSON", []byte(`{"a":1}` + "\n"), "no recording of Tandem"},
		{"first line broken", []byte(`{"tandem_recording":x}` + "\n"),
			"damaged or cut off in its first line"},
		{"other version", bytes.Replace(text, []byte(`recording":1`), []byte(`recording":4`), 1),
			"format 4, this Tandem reads formats 1 to 3"},
		{"cut between lines", []byte(body), "cut off"},
		{"cut in the sum", text[:len(text)-1], "cut off"},
		{"one byte changed", bytes.Replace(text, []byte("panic"), []byte("Panic"), 1), "its sum is wrong"},
		{"a line removed", []byte(strings.Join(append(lines[:1:1], lines[2:]...), "")), "its sum is wrong"},
		{"unknown key", resum(strings.Replace(body, `"choice"`, `"coice"`, 1)),
			`line 2: json: unknown field "coice"`},
		{"unknown key in the first line", resum(strings.Replace(body, `"package"`, `"pakage"`, 1)),
			`line 1: json: unknown field "pakage"`},
		{"an empty line", resum(strings.Replace(body, "\n", "\n\n", 1)), "line 2: an empty line"},
		{"two values in a line", resum(body + `{"choose":{"goroutine":"1","choice":0}}{}` + "\n"),
			"more than one value"},
		{"two parts in a line", resum(body + `{"choose":{"goroutine":"1","choice":0},"sha256":"x"}` + "\n"),
			"want exactly one"},
		{"nothing in a line", resum(body + "{}\n"), "want exactly one"},
		{"goroutine is no number", resum(strings.Replace(body, `"goroutine":"1"`, `"goroutine":"x"`, 1)),
			"line 2: "},
		{"two expectations", resum(body + expect), "2 lines of what the replay has to show"},
		{"no expectation", resum(strings.Replace(body, expect, "", 1)),
			"0 lines of what the replay has to show"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r, err := decode(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want %s", r, err, test.want)
			}
		})
	}
}

// Every way to cut a file short is noticed.
func TestDecodeNoticesEveryCut(t *testing.T) {
	_, text := saved(t, example())
	for n := range text {
		if _, err := decode(text[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(text))
		}
	}
}

// TestDecodeNoticesEveryFlippedBit: a file of which a bit has changed is refused in words that say
// what to do. It may be read where it means the same, as keys of JSON in capital letters do in the
// line of the sum. It is never read as another recording.
func TestDecodeNoticesEveryFlippedBit(t *testing.T) {
	_, text := saved(t, example())
	read := 0
	for at := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[at] ^= 1 << bit
			r, err := decode(flipped)
			switch {
			case err == nil && !cmp.Equal(r, example()):
				t.Fatalf("bit %d of byte %d: read as %+v", bit, at, r)
			case err == nil:
				read++
			case !strings.Contains(err.Error(), "check the program again") &&
				!strings.Contains(err.Error(), "no recording of Tandem"):
				t.Fatalf("bit %d of byte %d: the error does not say what to do: %v", bit, at, err)
			}
		}
	}
	if most := len("sha256"); read > most {
		t.Errorf("%d files are read, want at most %d", read, most)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	if _, err := Load(absent); err == nil || !strings.Contains(err.Error(), absent) {
		t.Errorf("got %v", err)
	}
	path, text := saved(t, example())
	if err := os.WriteFile(path, text[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestLoadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(maxRecording + 1); err != nil { // sparse: takes no room on the disk
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger than 256 MiB") {
		t.Errorf("got %v", err)
	}
}

// decode reads the text of a file of one program.
func decode(text []byte) (*Recording, error) {
	body, format, err := checkFrame(text)
	if err == nil && format == versionNodes {
		err = errors.New("it is of several programs")
	}
	if err != nil {
		return nil, err
	}
	return decodeBody(body)
}

// roundTrip is what is read after a recording was written.
func roundTrip(t *rapid.T, r *Recording) *Recording {
	t.Helper()
	text, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// Whatever validate lets pass comes back as it was.
func TestAnyRecordingComesBack(t *testing.T) {
	data := rapid.SliceOfN(rapid.Byte(), 1, 50)
	rapid.Check(t, func(t *rapid.T) {
		r := example()
		r.Program.Args = rapid.SliceOf(rapid.String()).Draw(t, "args")
		for range rapid.IntRange(0, 20).Draw(t, "choices") {
			r.Schedule = append(r.Schedule, Chosen{Goroutine: rapid.Uint64().Draw(t, "goroutine"),
				Choice: rapid.IntRange(0, 1<<40).Draw(t, "choice")})
		}
		for range rapid.IntRange(0, 5).Draw(t, "exchanges") {
			e := Exchange{Input: model.Input{Kind: model.Send, Data: data.Draw(t, "data")}}
			e.Input.Conn = rapid.IntRange(0, 9).Draw(t, "conn")
			end := model.End(rapid.IntRange(0, int(model.Reset)).Draw(t, "end"))
			e.Deliveries = []model.Delivery{{Data: data.Draw(t, "answer"), End: end}}
			r.Exchanges = append(r.Exchanges, e)
		}
		if err := r.validate(); err != nil {
			t.Skip(err)
		}
		back := roundTrip(t, r)
		if diff := cmp.Diff(r, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

// Any file is refused with an error or is a recording that can be saved again.
func FuzzDecode(f *testing.F) {
	text, err := encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(resum(`{"tandem_recording":1}` + "\n"))
	f.Add(resum(`{"tandem_recording":1,"package":"x"}` + "\n" + `{"expect":null}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		// The fuzzer does not find sums: also try the text as a body.
		for _, text := range [][]byte{text, resum(string(text))} {
			r, err := decode(text)
			if err != nil {
				continue
			}
			again, err := encode(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decode(again); err != nil {
				t.Fatalf("%v\nin what was written again:\n%s", err, again)
			}
		}
	})
}
