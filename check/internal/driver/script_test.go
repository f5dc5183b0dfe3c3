package driver

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

// TestScripts runs the scripts of testdata with groups in memory. `go test ./check/internal/driver
// -rewrite` writes what comes of them anew. A command is one of:
//
//	driver [scope=connection] [strategy=NAME] [clients=N] [ways=N] [room=N] [nobody]
//	run [session=NAME]   a new execution, and an input a line
//	go-on [session=NAME] further inputs of it
//	set full|hang|disturbed|late|deaths=N|damaged=N
//	known                what is known of the peers
//
// Inputs are: connect [NAME], refused, listen [NAME], send N TEXT, shutdown N, close N, pass [TIME]
// and once. A line follows TEXT, unless that ends with a backslash.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, s.command)
		if s.d != nil {
			if err := s.d.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

type script struct {
	t        *testing.T
	world    *fakeWorld
	d        *Driver
	cancel   context.CancelFunc
	sessions map[string]*Session
}

func (s *script) command(t *testing.T, td *datadriven.TestData) string {
	switch td.Cmd {
	case "driver":
		s.open(td)
		return ""
	case "run", "go-on":
		name := ""
		if td.HasArg("session") {
			td.ScanArgs(t, "session", &name)
		}
		session := s.sessions[name]
		if session == nil {
			session = s.d.NewSession(&Counts{})
			s.sessions[name] = session
		}
		if td.Cmd == "run" {
			session.Rewind()
		}
		var out strings.Builder
		for line := range strings.Lines(td.Input) {
			fmt.Fprintln(&out, s.input(session, strings.TrimSuffix(line, "\n")))
		}
		return out.String()
	case "set":
		s.set(td)
		return ""
	case "known":
		r := s.d.Report()
		return fmt.Sprintf("reads: %s\nunstored: %s\nkilled: %s\nunused: %s\n",
			r.Reads, r.Unstored, r.Killed, strings.Join(r.Unused, "; "))
	}
	td.Fatalf(t, "unknown command %s", td.Cmd)
	return ""
}

// open makes a driver.
func (s *script) open(td *datadriven.TestData) {
	number := func(key string) (n int) {
		if td.HasArg(key) {
			td.ScanArgs(s.t, key, &n)
		}
		return n
	}
	c := Config{Strategy: strategy.Never{}, Patience: time.Minute, Room: 1 << 20}
	server := peers.Peer{Name: "server", Listen: serverAt, Choices: number("ways")}
	c.Spec.Peers = []peers.Peer{server}
	for i := range number("clients") {
		client := peers.Peer{Name: fmt.Sprint("client", i+1), After: "listen 80", Expect: "exit 0"}
		c.Spec.Peers = append(c.Spec.Peers, client)
	}
	if td.HasArg("scope") {
		c.Scope = iocache.Connection
	}
	if td.HasArg("strategy") {
		name := ""
		td.ScanArgs(s.t, "strategy", &name)
		var err error
		if c.Strategy, err = strategy.ByName(name); err != nil {
			td.Fatalf(s.t, "%v", err)
		}
	}
	s.world = &fakeWorld{images: map[string]fakeState{}, room: number("room")}
	if !td.HasArg("nobody") {
		c.Start = s.world.start
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.d, s.cancel, s.sessions = New(ctx, c), cancel, map[string]*Session{}
}

// set changes what the fake does next.
func (s *script) set(td *datadriven.TestData) {
	for _, arg := range td.CmdArgs {
		var group *fakeGroup
		if len(s.d.groups) > 0 {
			group, _ = s.d.groups[0].group.(*fakeGroup)
		}
		n := 0
		if len(arg.Vals) > 0 {
			n, _ = strconv.Atoi(arg.Vals[0])
		}
		switch arg.Key {
		case "full":
			s.world.full = true
		case "hang":
			s.world.hang = s.cancel
		case "disturbed":
			s.world.disturbed = 1
		case "late":
			group.late = true
		case "deaths":
			s.world.deaths = n
		case "damaged":
			delete(s.world.images, fmt.Sprint("image ", n))
		default:
			td.Fatalf(s.t, "unknown setting %s", arg.Key)
		}
	}
}

// input gives an input, and says what came of it and what was done to the group.
func (s *script) input(session *Session, line string) string {
	in := parseInput(s.t, line)
	hits := len(session.hits)
	s.world.log = nil
	a, err := session.Exchange(in)
	text := "miss"
	if len(session.hits) > hits && session.hits[hits] {
		text = "hit"
	}
	if err != nil {
		text += ": error: " + strings.ReplaceAll(err.Error(), "\n", "\n    ")
	} else {
		text += ": " + a.Reaction.String()
		if a.Time.Idle {
			text += ", idle"
		}
		if a.Failure != "" {
			text += ", failure: " + a.Failure
		}
	}
	for _, done := range s.world.log {
		text += "\n  " + done
	}
	return text
}

// parseInput reads an input of a script.
func parseInput(t *testing.T, line string) model.Input {
	word, rest, _ := strings.Cut(line, " ")
	in := model.Input{Name: rest}
	switch word {
	case "connect":
		in.Kind, in.Addr = model.Connect, serverAt
		if strings.HasPrefix(rest, "way=") {
			in.Name = ""
			in.Behaviour, _ = strconv.Atoi(strings.TrimPrefix(rest, "way="))
		}
		return in
	case "refused":
		in.Kind, in.Addr = model.Connect, "127.0.0.1:1"
		return in
	case "listen":
		in.Kind, in.Addr = model.Listen, "0.0.0.0:80"
		return in
	case "pass":
		in = model.Input{Kind: model.Pass}
		in.Most, _ = time.ParseDuration(rest)
		return in
	case "once":
		return model.Input{Kind: model.Pass, Most: model.Once}
	}
	number, text, _ := strings.Cut(rest, " ")
	in.Name = ""
	var err error
	if in.Conn, err = strconv.Atoi(number); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	switch word {
	case "send":
		half, isHalf := strings.CutSuffix(text, `\`)
		if in.Kind, in.Data = model.Send, []byte(half); !isHalf {
			in.Data = append(in.Data, '\n')
		}
	case "shutdown":
		in.Kind = model.Shutdown
	case "close":
		in.Kind = model.Close
	default:
		t.Fatalf("unknown input %q", line)
	}
	return in
}
