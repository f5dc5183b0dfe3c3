// Package museum_test finds bugs again that released libraries have had.
package museum_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	tandem   = "../../bin/tandem"
	byChance = "../../bin/bychance.test"
)

var (
	most   = flag.String("most", "5m", "most time to find a bug, and then to look at the fixed version")
	chance = flag.String("chance", "", "how long Go itself runs each exhibit; empty: not at all")
	fixed  = flag.Bool("fixed", true, "look at the fixed versions, too")
	update = flag.Bool("update", false, "put the table into README.md")
)

// exhibit is a program that uses a library as its users did. Its go.mod has the version with the
// bug, fixed.mod the first one without.
type exhibit struct {
	directory string
	kind      string   // the rule that is violated, as the JSON has it
	names     string   // what the report names before it shows the schedule: where the bug is
	flags     []string // of tandem check: what a user would have set
	peer      []string // where the peer has the bug: arguments with which the program avoids it
	isNewest  bool     // the newest version has the bug, so there is no fixed.mod
	isServer  bool     // its peer is a client, which only Tandem starts in time
}

var exhibits = []exhibit{
	{directory: "../twocommands", kind: "exit", names: "dropbear died", peer: []string{"-in-turn"}},
	{directory: "cmux-stop", kind: "deadlock", names: "cmux.(*muxListener).Accept"},
	{directory: "dns-context", kind: "data-race", names: "dns.(*Client).ExchangeContext"},
	{directory: "fasthttp-shutdown", kind: "data-race", names: "fasthttp.(*RequestCtx).Done"},
	{directory: "fluent-close", kind: "panic", names: "fluent.(*Fluent).appendBuffer"},
	{directory: "grpc-stop", kind: "deadlock", names: "grpc.(*Server).GracefulStop"},
	{directory: "http2-forward", kind: "deadlock", names: "http2.transportResponseBody.Close"},
	{directory: "http2-nobody", kind: "data-race", names: "io.Copy(io.Discard, answer.Body)"},
	{directory: "http2-reuse", kind: "data-race", names: "http2.(*clientConnReadLoop).endStreamError"},
	{directory: "http2-trailers", kind: "data-race", names: "cc.maxFrameSize = s.Val",
		flags: []string{"--preempt-in", "golang.org/x/net/..."}},
	{directory: "jsonrpc-close", kind: "panic", names: "jsonrpc2.(*Conn).readMessages",
		flags: []string{"--preempt-in", "github.com/sourcegraph/jsonrpc2/..."}},
	{directory: "kafka-close", kind: "deadlock", names: "kafka-go.(*Writer).Close", isNewest: true},
	{directory: "ldap-timeout", kind: "data-race", names: "v3.(*Conn).SetTimeout"},
	{directory: "ldap-unbind", kind: "deadlock", names: "v3.(*Conn).Unbind",
		flags: []string{"--preempt-in", "github.com/go-ldap/ldap/v3/..."}},
	{directory: "memberlist-meta", kind: "data-race", names: "memberlist.(*Memberlist).aliveNode",
		isNewest: true},
	{directory: "mqtt-disconnect", kind: "deadlock", names: "client.Disconnect(250)",
		flags: []string{"--faults", "1"}},
	{directory: "mqtt-resume", kind: "data-race", names: "paho.mqtt.golang.(*client).resume",
		flags: []string{"--faults", "1"}, isNewest: true},
	{directory: "mysql-cancel", kind: "data-race", names: "mysql.(*mysqlConn).clearResult"},
	{directory: "nats-subscribe", kind: "data-race", names: "nats.go.(*Conn).SubscribeSync"},
	{directory: "nsq-stop", kind: "panic", names: "go-nsq.(*Consumer).onConnMessage", isNewest: true},
	{directory: "pgconn-database", kind: "data-race", names: "pgconn.(*PgConn).ayncClose"},
	{directory: "proxy-deadline", kind: "data-race", names: "go-proxyproto.(*Conn).SetReadDeadline"},
	{directory: "redis-limit", kind: "data-race", names: "pool.(*ConnPool).newConn"},
	{directory: "sftp-close", kind: "data-race", names: "sftp.(*clientConn).recv",
		flags: []string{"--faults", "1"}},
	{directory: "smtp-serve", kind: "deadlock", names: "go-smtp.(*Server).Serve", isNewest: true},
	{directory: "ssh-forward", kind: "livelock", names: "ssh.(*mux).SendRequest"},
	{directory: "ssh-keepalive", kind: "livelock", names: "ssh.(*channel).SendRequest"},
	{directory: "ssh-server", kind: "data-race", names: "ssh.(*sshContext).SetValue", isServer: true},
	{directory: "stomp-begin", kind: "data-race", names: "stomp.(*Conn).sendFrame"},
	{directory: "websocket-close", kind: "data-race", names: "websocket.(*Conn).CloseNow"},
	{directory: "yamux-write", kind: "data-race", names: "yamux.(*Session).send"},
	{directory: "zk-watch", kind: "data-race", names: "zk.(*Conn).sendSetWatches", isNewest: true},
}

// outcome is what tandem says of one check.
type outcome struct {
	Verdict    string
	Violations []struct {
		Rule        string
		Preemptions int
		Schedule    []struct{ Operation string }
	}
	Counts struct {
		Executions int
		Seconds    float64
	}
}

// TestMuseum: each bug is found in the time that there is; its counterexample replays 20 times of
// 20; and the fixed version has none, in as many executions at least. It prints the table.
func TestMuseum(t *testing.T) {
	var rows []string
	for _, x := range exhibits {
		t.Run(filepath.Base(x.directory), func(t *testing.T) {
			kept := filepath.Join(t.TempDir(), "counterexample")
			bug := x.check(t, "go.mod", "-o", kept)
			if bug.Verdict != "violated" || bug.Violations[0].Rule != x.kind {
				t.Fatalf("%s, %v", bug.Verdict, bug.Violations)
			}
			out, err := exec.Command(tandem, "replay", "--times", "20", kept).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("replay ends with %v, and not with exit code 1:\n%s", err, out)
			}
			if before, _, _ := strings.Cut(string(out), "\nSchedule:"); !strings.Contains(before, x.names) {
				t.Errorf("the report does not begin with %s:\n%s", x.names, before)
			}
			without := notRun
			switch {
			case x.isNewest:
				without = "none yet"
			case *fixed:
				without = x.checkFixed(t, bug.Counts.Executions)
			}
			settings := "none"
			if x.flags != nil {
				settings = "`" + strings.Join(x.flags, " ") + "`"
			}
			rows = append(rows, strings.Join([]string{
				fmt.Sprintf("[%s](%[1]s)", x.directory), x.kind, settings,
				fmt.Sprintf("%s, %.1f s", executions(bug.Counts.Executions), bug.Counts.Seconds),
				bug.schedule(), without, x.byChance(t)}, " | "))
		})
	}
	t.Logf("\n%s", strings.Join(rows, "\n"))
	if *update && !t.Failed() {
		writeTable(t, rows)
	}
}

// checkFixed checks the fixed version, and says what came of it. It must have so many executions at
// least, and no violation.
func (x exhibit) checkFixed(t *testing.T, atLeast int) string {
	t.Helper()
	o := x.check(t, "fixed.mod", "-o", filepath.Join(t.TempDir(), "counterexample"))
	if o.Verdict == "violated" || o.Verdict == "unknown" && o.Counts.Executions < atLeast {
		t.Errorf("the fixed version: %s after %d executions, %v", o.Verdict, o.Counts.Executions,
			o.Violations)
	}
	return o.Verdict + ", " + executions(o.Counts.Executions)
}

// schedule says what it takes to see the violation that is shown.
func (o outcome) schedule() string {
	v, faults := o.Violations[0], 0
	for _, step := range v.Schedule {
		kind, isFault := strings.CutPrefix(step.Operation, "network: ")
		if isFault && kind != "goes well" {
			faults++
		}
	}
	return fmt.Sprintf("%d, %d", v.Preemptions, faults)
}

// notRun stands for what was not run this time: the table keeps what it has.
const notRun = "?"

// byChance is how often Go itself shows the bug, with the race detector, beside the same peer.
func (x exhibit) byChance(t *testing.T) string {
	t.Helper()
	switch {
	case *chance == "":
		return notRun
	case x.isServer:
		return "none: its peer is a client"
	}
	var stderr bytes.Buffer
	cmd := exec.Command(byChance, "-test.run", "^TestProgram$", "-most", *chance,
		"-program", "./"+x.directory)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
		return notRun
	}
	var seen struct{ Runs, Races, Panics, Deadlocks, Hangs, Fails int }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&seen); err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{"data-race": seen.Races, "panic": seen.Panics, "exit": seen.Fails,
		"deadlock": seen.Deadlocks + seen.Hangs, "livelock": seen.Hangs}
	return fmt.Sprintf("%d of %d", shown[x.kind], seen.Runs)
}

// executions says how many executions there are.
func executions(n int) string {
	if n == 1 {
		return "1 execution"
	}
	return fmt.Sprintf("%d executions", n)
}

// check checks the exhibit with the versions that a module file asks for. Where the bug is in the
// peer, the program is what is fixed.
func (x exhibit) check(t *testing.T, module string, flags ...string) outcome {
	t.Helper()
	arguments := append([]string{"check", "./" + x.directory, "--json", "--time", *most}, x.flags...)
	arguments = append(arguments, flags...)
	environment := os.Environ()
	switch {
	case x.peer == nil:
		environment = append(environment, "GOFLAGS=-modfile="+module)
	case module == "fixed.mod":
		arguments = append(append(arguments, "--"), x.peer...)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tandem, arguments...)
	cmd.Stderr = &stderr
	cmd.Env = environment
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("tandem %q: %v\n%s%s", arguments, err, out, stderr.Bytes())
	}
	return o
}

// Between these lines README.md has the table.
const beginTable, endTable = "<!-- table -->\n", "<!-- end of table -->\n"

// writeTable puts rows into the table. Those of exhibits that were not run stay as they are.
func writeTable(t *testing.T, rows []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), beginTable)
	old, after, ok2 := strings.Cut(rest, endTable)
	lines := strings.SplitAfter(old, "\n")
	if !ok || !ok2 || len(lines) < 3 {
		t.Fatalf("README.md has no table between %q and %q", beginTable, endTable)
	}
	head, body := lines[:2], map[string]string{}
	for _, line := range append(lines[2:len(lines)-1], rows...) {
		row := strings.Trim(line, "| \n")
		name, _, _ := strings.Cut(row, " | ")
		cells, known := strings.Split(row, " | "), strings.Split(body[name], " | ")
		for i, cell := range cells {
			if cell == notRun && len(known) == len(cells) {
				cells[i] = known[i]
			}
		}
		body[name] = strings.Join(cells, " | ")
	}
	table := strings.Join(head, "")
	for _, name := range slices.Sorted(maps.Keys(body)) {
		table += "| " + body[name] + " |\n"
	}
	if err := os.WriteFile("README.md", []byte(before+beginTable+table+endTable+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
