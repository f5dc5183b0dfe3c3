package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// debuggedProgram has a data race. Delve shows the variable in the closure that reads it.
const debuggedProgram = `package main

import "sync"

func main() {
	shared := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		shared = 41
		shared++
	})
	wg.Go(func() {
		seen := shared
		println(seen)
	})
	wg.Wait()
}
`

// debugged is a directory with a counterexample of debuggedProgram, whose racy read is in line 13.
// Commands of tandem run there. Delve is built from its own module, as make debugger does, and put
// beside tandem, where it is looked for first. Later tests find it built.
func debugged(t *testing.T) (dir string, run func(args ...string) *exec.Cmd) {
	t.Helper()
	return debuggedFiles(t, map[string]string{"main.go": debuggedProgram,
		"debug.txt": "break main.go:13\ncontinue\ngoroutines\nlocals\nstack\ncontinue\nstack\ncontinue\n",
	})
}

// debuggedFiles is debugged with other files of a module. What they are checked for is in race.cx.
func debuggedFiles(t *testing.T, files map[string]string) (dir string, run func(args ...string) *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	files["go.mod"] = "module example.com/debugged\n\ngo 1.25\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-C", "../../scripts/delve", "-o",
		filepath.Join(bin, "tandem-dlv"), "github.com/go-delve/delve/cmd/dlv")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building Delve: %v\n%s", err, out)
	}
	run = func(args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, "tandem"), args...)
		c.Dir = dir
		return c
	}
	// The race is a violation, so the exit code is not 0.
	if out, err := run("check", ".", "-o", "race.cx").CombinedOutput(); err == nil {
		t.Fatalf("no race was found:\n%s", out)
	}
	return dir, run
}

// TestDebug: a breakpoint at the racy read stops each of twenty runs with the same goroutines,
// variables and calls. The violation is a stop, too, below the read, and the process then ends.
func TestDebug(t *testing.T) {
	_, run := debugged(t)
	// Addresses are the same in all runs, and so are the numbers of goroutines, so both are
	// compared. The kernel numbers processes, and so it does threads.
	numbered, first := regexp.MustCompile(`(thread|Process) \d+`), ""
	times := 5
	if *deep {
		times = 20
	}
	for i := range times {
		out, err := run("debug", "race.cx", "--init", "debug.txt").CombinedOutput()
		text := numbered.ReplaceAllString(string(out), "$1 N")
		if err != nil {
			t.Fatalf("run %d: %v\n%s", i, err, text)
		}
		if i == 0 {
			first = text
			for _, want := range []string{"main.main.func2() ./main.go:13", "shared = 42", "* Goroutine",
				"[violation] runtime.tandemEnd()", "Process N has exited"} {
				if !strings.Contains(text, want) {
					t.Errorf("the session does not say %q:\n%s", want, text)
				}
			}
		}
		if text != first {
			t.Fatalf("run %d differs:\n%s\nthe first was:\n%s", i, text, first)
		}
	}
}

// TestDebugStep: each step can be stopped at, so a run to the step before goes back. Steps that
// there are not are refused.
func TestDebugStep(t *testing.T) {
	dir, run := debugged(t)
	// The breakpoint of the step would be hit once only, but its condition is asked at every step.
	commands := []byte("continue\nclear step\ncontinue\ncontinue\n")
	if err := os.WriteFile(filepath.Join(dir, "step.txt"), commands, 0o600); err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`continue stops before (step \d+: main.*)`)
	// As a person does who goes back.
	for step := 6; step > 3; step-- {
		out, err := run("debug", "race.cx", "--step", strconv.Itoa(step), "--init",
			"step.txt").CombinedOutput()
		match := said.FindStringSubmatch(string(out))
		if err != nil || match == nil || !strings.HasPrefix(match[1], fmt.Sprintf("step %d: ", step)) ||
			!strings.Contains(string(out), "> [step] runtime.tandemBeginTransition()") {
			t.Errorf("step %d: %v\n%s", step, err, out)
		}
	}
	out, err := run("debug", "race.cx", "--step", "1000").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "step 1000: the execution has steps 1 to ") {
		t.Errorf("step 1000: %v\n%s", err, out)
	}
}

// TestDebugForEditors: an editor attaches by the Debug Adapter Protocol, sets the breakpoint, and
// is told of the stop there. The debugger ends with the editor, and so does tandem.
func TestDebugForEditors(t *testing.T) {
	dir, run := debugged(t)
	c := run("debug", "race.cx", "--listen", "127.0.0.1:0")
	// Port 0 is any that is free: the first line says which.
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "API server listening at: ")
	if !ok {
		t.Fatalf("%q, %v", line, err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute)) // a test that hangs says where
	in, number := bufio.NewReader(conn), 0
	send := func(command, arguments string) {
		number++
		text := fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":%s}`, number, command,
			arguments)
		fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	// The order is that of the protocol's overview: breakpoints are set before the program goes on.
	send("initialize", `{"adapterID":"go"}`)
	send("attach", `{"mode":"remote","stopOnEntry":false}`)
	awaitMessage(t, in, "initialized")
	send("setBreakpoints", fmt.Sprintf(`{"source":{"path":%q},"breakpoints":[{"line":13}]}`,
		filepath.Join(dir, "main.go")))
	awaitMessage(t, in, "setBreakpoints")
	send("configurationDone", `{}`)
	if text := awaitMessage(t, in, "stopped"); !strings.Contains(text, `"reason":"breakpoint"`) {
		t.Errorf("stopped: %s", text)
	}
	send("disconnect", `{"terminateDebuggee":true}`)
	io.Copy(io.Discard, lines)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// debuggedNodes are a server that adds in two steps, and two clients. The server panics in line 22.
const debuggedNodes = `package main

import (
	"net"
	"os"
	"sync"
)

func main() {
	if len(os.Args) == 1 {
		if c, err := net.Dial("tcp", "127.0.0.1:7801"); err == nil {
			c.Write([]byte("x"))
		}
		return
	}
	l, _ := net.Listen("tcp", "127.0.0.1:7801")
	seen, both := 0, sync.WaitGroup{}
	both.Go(func() { receive(l, &seen) })
	both.Go(func() { receive(l, &seen) })
	both.Wait()
	if seen == 1 {
		panic("one is lost")
	}
}

var mutex sync.Mutex

func receive(l net.Listener, seen *int) {
	c, _ := l.Accept()
	c.Read(make([]byte, 1))
	mutex.Lock()
	next := *seen + 1
	mutex.Unlock()
	mutex.Lock()
	*seen = next
	mutex.Unlock()
}
`

// TestDebugNode: of several nodes, the one with the violation is debugged, or the one that is
// named. The others do not run. Stops are at breakpoints, and at steps as the node counts them.
func TestDebugNode(t *testing.T) {
	_, run := debuggedFiles(t, map[string]string{"main.go": debuggedNodes,
		"tandem.yaml": "nodes:\n" +
			"  - {name: server, package: ., args: [server], listen: \"127.0.0.1:7801\"}\n" +
			"  - {name: one, package: .}\n  - {name: two, package: .}\n",
		"server.txt": "continue\nstack\ncontinue\ncontinue\n",
		"step.txt":   "continue\nclear step\ncontinue\ncontinue\ncontinue\n",
		"two.txt":    "break main.go:12\ncontinue\nprint err\ncontinue\ncontinue\n",
	})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--init", "server.txt"}, []string{"main.go:22", "one is lost", "[violation]",
			"has exited"}},
		{[]string{"--init", "step.txt", "--step", "9"}, []string{"continue stops before step 9: ",
			"[step] runtime.tandemBeginTransition"}},
		{[]string{"--node", "two", "--init", "two.txt"}, []string{"main.main() ./main.go:12", "error nil",
			"has exited"}},
	} {
		out, err := run(append([]string{"debug", "race.cx"}, c.args...)...).CombinedOutput()
		for _, want := range c.want {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%q: %v, and no %q in:\n%s", c.args, err, want, out)
			}
		}
	}
	// What cannot be debugged is refused, before a debugger is there.
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--node", "three"},
			"there is no node three in this counterexample: give one of server, one, two"},
		{[]string{"--node", "two", "--step", "1000"}, "node two: step 1000: the execution has steps 1 to "},
	} {
		out, err := run(append([]string{"debug", "race.cx"}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
	}
}

// awaitMessage reads messages until one is an event, or the answer to a command, of a name. Others
// are passed over: which come in between is for Delve to choose.
func awaitMessage(t *testing.T, in *bufio.Reader, name string) string {
	t.Helper()
	for {
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("waiting for %s: %v", name, err)
		}
		length, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(in, text); err != nil {
			t.Fatal(err)
		}
		var m struct{ Event, Command string }
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Event == name || m.Command == name {
			return string(text)
		}
	}
}
