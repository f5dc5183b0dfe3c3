package recording

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// TestExchanges: whatever a program can notice of its peers comes back from the file.
func TestExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyExchange(t)
		b, err := json.Marshal(recordExchange(want))
		if err != nil {
			t.Fatal(err)
		}
		var e report.Exchange
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, recordedExchange(e)); diff != "" {
			t.Errorf("%s\n%s", b, diff)
		}
	})
}

// anyExchange is one that peers may make. A replay answers as from the cache.
func anyExchange(t *rapid.T) driver.Exchange {
	number := func(what string) int { return rapid.IntRange(0, 3).Draw(t, what) }
	x := driver.Exchange{
		Input:  model.Input{Kind: model.Send, Conn: number("connection"), Data: []byte("input")},
		Cached: true, Heard: rapid.Bool().Draw(t, "heard"),
	}
	x.Answer.Conn, x.Answer.Clients, x.Answer.Refused = x.Input.Conn, number("clients"), number("refused")
	if rapid.Bool().Draw(t, "fails") {
		x.Answer.Failure = "a client failed"
	}
	for range number("opened") {
		x.Answer.First = 7
		x.Answer.Opened = append(x.Answer.Opened, number("listener"))
	}
	for range number("deliveries") {
		x.Answer.Deliveries = append(x.Answer.Deliveries,
			model.Delivery{Conn: number("to"), Data: []byte{0, 255}, End: model.EOF})
	}
	for range number("ended") {
		x.Ended = append(x.Ended, driver.End{Peer: "client", Status: unix.WaitStatus(number("status"))})
	}
	for range number("wrote") {
		x.Wrote = append(x.Wrote, driver.Written{Peer: "server", Text: "not \xff UTF-8"})
	}
	if rapid.Bool().Draw(t, "passes") {
		x.Answer.Time = model.Time{Passed: time.Second, Due: time.Duration(number("due")),
			Idle: rapid.Bool().Draw(t, "idle"), Tie: rapid.Bool().Draw(t, "tie")}
		x.TimerOf = "server"
	}
	return x
}

// TestReplay: the same program does again what was recorded, for a report and for a debugger. One
// that has changed is followed as far as it agrees. A recording that is wrong is found out.
func TestReplay(t *testing.T) {
	const source = "package main\n\nimport \"os\"\n\nfunc main() {\n" +
		"\tc := make(chan int, 2)\n\tgo func() { c <- 1 }()\n\tgo func() { c <- 2 }()\n" +
		"\tif <-c == 2 {\n\t\tos.Exit(3)\n\t}\n}\n"
	program := build(t, source)
	rec := violating(t, program)

	again, err := Replay(program, rec, 3)
	if err != nil || !again.SameBuild || again.Parted != nil || again.Shown == nil {
		t.Fatalf("the same build: %+v, %v", again, err)
	}
	rehearsed, err := Rehearse(program, rec)
	if err != nil || rehearsed.Parted != "" || rehearsed.Log.ExitCode != 3 {
		t.Fatalf("the same build, for a debugger: %+v, %v", rehearsed, err)
	}
	w, err := sut.Start(program, rehearsed.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if log, err := rehearsed.Again(w); err != nil || log.ExitCode != 3 {
		t.Fatalf("after that it ended with %+v, %v", log, err)
	}

	changed := build(t, strings.Replace(source, "go func() { c <- 2 }()", "c <- 1", 1))
	again, err = Replay(changed, rec, 2)
	if err != nil || again.SameBuild || again.Parted == nil || again.Shown != nil {
		t.Errorf("a program that was mended: %+v, %v", again, err)
	}
	if r, err := Rehearse(changed, rec); err != nil || r.Parted == "" || r.Log.ExitCode != 0 {
		t.Errorf("a program that was mended, for a debugger: %+v, %v", r, err)
	}

	wrong := *rec
	wrong.Expect.EventLog = "0"
	if _, err := Replay(program, &wrong, 1); err == nil || !strings.Contains(err.Error(), "run 1 of 1") {
		t.Errorf("a recording of other events: %v", err)
	}
}

func build(t *testing.T, source string) *sut.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": source, "go.mod": "module example\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return suttest.Build(t, sut.BuildOptions{Dir: dir, Package: "."})
}

// violating is a recording of the execution in which the second goroutine comes first.
func violating(t *testing.T, p *sut.Program) *report.Recording {
	t.Helper()
	about := report.Program{Package: ".", Directory: t.TempDir()}
	w, err := sut.Start(p, sut.Options{Dir: about.Directory})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for seed := range uint64(100) {
		log, err := w.Run(sut.Schedule{Seed: seed + 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if log.ExitCode == 3 {
			return New(p, about, log, nil)
		}
	}
	t.Fatal("the second goroutine never came first")
	return nil
}
