// Package examples_test runs every example as it is, without Tandem, against its real peer.
//
// The tests need root, merecat, dropbear and scp. They run in a network and a mount namespace of
// their own, so that the examples' fixed ports are free and nothing of the machine is touched.
package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// insideNamespace is set in the environment of the copy of the test that runs in the namespaces.
const insideNamespace = "TANDEM_EXAMPLES_INSIDE_NAMESPACE"

// binaries is the environment variable that tells this copy where the built examples are.
const binaries = "TANDEM_EXAMPLES_BINARIES"

func TestMain(m *testing.M) {
	if os.Getenv(insideNamespace) == "" {
		os.Exit(runInNamespaces())
	}
	if err := enterNamespaces(); err != nil {
		fmt.Fprintln(os.Stderr, "set up the namespaces of the test:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runInNamespaces builds the examples and runs the tests again, in fresh namespaces. The build
// happens here since inside, another directory takes the place of root's home with its caches.
func runInNamespaces() int {
	dir, err := os.MkdirTemp("", "tandem-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{
		"alphabet": "./alphabet", "alphabet-server": "./alphabet/server", "httpget": "./httpget",
		"scpto": "./scpto", "scpto-fixed": "./scpto/fixed",
	} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	inside := exec.Command("/proc/self/exe", os.Args[1:]...)
	inside.Stdout, inside.Stderr = os.Stdout, os.Stderr
	inside.Env = append(os.Environ(), insideNamespace+"=1", binaries+"="+dir)
	inside.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := inside.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own (this needs root):", err)
		}
		return 1
	}
	return 0
}

// enterNamespaces keeps mounts from leaving the namespace and raises the loopback interface.
func enterNamespaces() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	return nil
}

// example is the part of a tandem.yaml that concerns the peers.
type example struct {
	Args  []string `yaml:"args"`
	Peers []struct {
		Name    string   `yaml:"name"`
		Command []string `yaml:"command"`
		Listen  string   `yaml:"listen"`
	} `yaml:"peers"`
	Files []struct {
		Path    string `yaml:"path"`
		Content string `yaml:"content"`
		From    string `yaml:"from"`
		Mode    string `yaml:"mode"`
	} `yaml:"files"`
	Binds    map[string]string `yaml:"binds"`
	Strategy string            `yaml:"strategy"`
}

// startPeers starts the peers that the configuration names, as a check would, and returns the
// configuration and the scratch directory. The test ends them.
func startPeers(t *testing.T, config string) (example, string) {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	var e example
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&e); err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	scratch := t.TempDir()
	inScratch := func(s string) string { return strings.ReplaceAll(s, "{scratch}", scratch) }
	for _, file := range e.Files {
		content := []byte(file.Content)
		if file.From != "" {
			content = readSource(t, filepath.Join(filepath.Dir(config), file.From))
		}
		writeFile(t, inScratch(file.Path), content, file.Mode)
	}
	for target, source := range e.Binds {
		bind(t, inScratch(source), target)
	}
	for _, peer := range e.Peers {
		var command []string
		for _, word := range peer.Command {
			command = append(command, inScratch(word))
		}
		startPeer(t, command, peer.Listen)
	}
	return e, scratch
}

// readSource reads a file that a configuration names; one that the project has to build first is the
// one that was built for the test.
func readSource(t *testing.T, path string) []byte {
	t.Helper()
	if filepath.Base(filepath.Dir(path)) == "bin" {
		path = binary(t, filepath.Base(path))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, path string, content []byte, octal string) {
	t.Helper()
	mode := fs.FileMode(0o644)
	if octal != "" {
		bits, err := strconv.ParseUint(octal, 8, 32)
		if err != nil {
			t.Fatalf("%s: mode %q: %v", path, octal, err)
		}
		mode = fs.FileMode(bits)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
}

// bind puts the directory source in the place of target until the test ends.
func bind(t *testing.T, source, target string) {
	t.Helper()
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("bind %s to %s: %v", source, target, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", target, err)
		}
	})
}

// startPeer starts a server and returns when it accepts connections.
func startPeer(t *testing.T, command []string, listen string) {
	t.Helper()
	var output bytes.Buffer
	peer := exec.Command(command[0], command[1:]...)
	peer.Stdout, peer.Stderr = &output, &output
	peer.WaitDelay = time.Second // its children may hold on to the output
	peer.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = peer.Wait() // how it ended is in its state
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-peer.Process.Pid, syscall.SIGKILL) // it may have ended itself
		<-ended
		if t.Failed() {
			t.Logf("output of %s:\n%s", command[0], &output)
		}
	})
	for {
		conn, err := net.Dial("tcp", listen)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%v ended before it accepted connections: %v", command, peer.ProcessState)
		case <-t.Context().Done():
			t.Fatalf("%v does not accept connections at %s: %v", command, listen, err)
		default:
		}
	}
}

// binary returns the path of a built example. It looks at all sources, since the go command takes a
// cached result for valid as long as the files that the test has looked at have not changed.
func binary(t *testing.T, name string) string {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(os.Getenv(binaries), name)
}

// runExample runs a built example and returns its output and its exit status.
func runExample(t *testing.T, name string, args ...string) (output string, status int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary(t, name), args...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// expect runs an example that must succeed and print exactly want.
func expect(t *testing.T, want, name string, args ...string) {
	t.Helper()
	if got, status := runExample(t, name, args...); got != want || status != 0 {
		t.Errorf("%s %v: status %d, output\n%swant status 0, output\n%s", name, args, status, got, want)
	}
}

func TestAlphabet(t *testing.T) {
	e, _ := startPeers(t, "alphabet/tandem.yaml")
	expect(t, "connection 0: ab\nconnection 1: cd\n", "alphabet", e.Args...)
	expect(t, "connection 0: "+"abcdefghijklmnopqrstuvwxyzab\n", "alphabet", "-connections", "1", "-requests", "28")
}

func TestAlphabetWithRandomServer(t *testing.T) {
	startPeers(t, "alphabet/random.yaml")
	output, status := runExample(t, "alphabet", "-connections", "1", "-requests", "1000")
	word := strings.TrimSuffix(strings.TrimPrefix(output, "connection 0: "), "\n")
	if status != 0 || len(word) != 1000 {
		t.Fatalf("status %d, output %q", status, output)
	}
	// That 1000 tosses all fall on one side has a probability of 2^-999.
	if word == strings.ToLower(word) || word == strings.ToUpper(word) {
		t.Errorf("the server is not random: %s", word)
	}
}

func TestAlphabetServerRefusesWhatIsNoNumber(t *testing.T) {
	e, _ := startPeers(t, "alphabet/tandem.yaml")
	for _, line := range []string{"26", "-1", "x", ""} {
		conn, err := net.Dial("tcp", e.Peers[0].Listen)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(conn, line)
		answer := make([]byte, 100)
		n, err := conn.Read(answer)
		if want := fmt.Sprintf("error: %q is not a number from 0 to 25\n", line); string(answer[:n]) != want {
			t.Errorf("to %q the server answered %q, %v; want %q", line, answer[:n], err, want)
		}
		conn.Close()
	}
}

func TestHTTPGet(t *testing.T) {
	e, _ := startPeers(t, "httpget/tandem.yaml")
	expect(t, "This is file 0.\nThis is file 1.\n", "httpget", e.Args...)
	expect(t, "This is file 0.\nThis is file 1.\nThis is file 2.\n", "httpget", "-n", "3", "-transport")
	output, status := runExample(t, "httpget", "-n", "5")
	if status != 1 || !strings.Contains(output, "file4.txt: the server answered 404 Not Found") {
		t.Errorf("a missing file: status %d, output %q", status, output)
	}
}

func TestScpTo(t *testing.T) {
	for _, name := range []string{"scpto", "scpto-fixed"} {
		t.Run(name, func(t *testing.T) {
			_, scratch := startPeers(t, "scpto/tandem.yaml")
			expect(t, "letter.txt: 33 bytes copied\n", name)
			content, err := os.ReadFile(filepath.Join(scratch, "root", "letter.txt"))
			if want := "Dear Dropbear,\nplease keep this.\n"; string(content) != want {
				t.Errorf("the server has %q, %v; want %q", content, err, want)
			}
		})
	}
}

func TestScpToReportsARefusedFile(t *testing.T) {
	_, scratch := startPeers(t, "scpto/tandem.yaml")
	if err := os.Mkdir(filepath.Join(scratch, "root", "letter.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(scratch, "root", "letter.txt", "letter.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	output, status := runExample(t, "scpto")
	if status != 1 || !strings.Contains(output, "refused the header: scp: ") {
		t.Errorf("status %d, output %q", status, output)
	}
}

func TestExamplesReportAnAbsentPeer(t *testing.T) {
	for _, name := range []string{"alphabet", "httpget", "scpto", "scpto-fixed"} {
		output, status := runExample(t, name, "-addr", "127.0.0.1:1")
		if status != 1 || !strings.Contains(output, "connection refused") {
			t.Errorf("%s: status %d, output %q", name, status, output)
		}
	}
}
