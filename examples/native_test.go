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
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/peers"
)

// insideNamespace is set in the environment of the copy of the test that runs in the namespaces.
const insideNamespace = "TANDEM_EXAMPLES_INSIDE_NAMESPACE"

// builtTree is the environment variable that tells this copy where the examples are: their files
// below examples, and what was built of them below bin, as the configurations expect it.
const builtTree = "TANDEM_EXAMPLES_TREE"

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
	tree, err := os.MkdirTemp("", "tandem-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(tree)
	if err := buildTree(tree); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	inside := exec.Command("/proc/self/exe", os.Args[1:]...)
	inside.Stdout, inside.Stderr = os.Stdout, os.Stderr
	inside.Env = append(os.Environ(), insideNamespace+"=1", builtTree+"="+tree)
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

func buildTree(tree string) error {
	if err := os.CopyFS(filepath.Join(tree, "examples"), os.DirFS(".")); err != nil {
		return err
	}
	for name, pkg := range map[string]string{
		"alphabet": "./alphabet", "alphabet-server": "./alphabet/server", "httpget": "./httpget",
		"keepalive": "./keepalive",
		"scpto":     "./scpto", "scpto-fixed": "./scpto/fixed", "scpto-server": "./scpto/server",
		"download": "./download",
	} {
		build := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(tree, "bin", name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
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

// startPeers starts the peers of a configuration, as a check would, and returns the
// configuration and the scratch directory. The test ends them.
func startPeers(t *testing.T, config string) (configs.Config, string) {
	t.Helper()
	lookAtSources(t)
	c, err := configs.Load(filepath.Join(os.Getenv(builtTree), "examples", config))
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	inScratch := func(s string) string { return strings.ReplaceAll(s, peers.Scratch, scratch) }
	for _, file := range c.Group.Files {
		writeFile(t, inScratch(file.Path), file)
	}
	for target, source := range c.Group.Binds {
		bind(t, inScratch(source), target)
	}
	for _, peer := range c.Group.Peers {
		var command []string
		for _, word := range peer.Command {
			command = append(command, inScratch(word))
		}
		startPeer(t, command, peer.Listen)
	}
	return c, scratch
}

func writeFile(t *testing.T, path string, file peers.File) {
	t.Helper()
	mode := file.Mode
	if mode == 0 {
		mode = 0o644
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Content, mode); err != nil {
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

// lookAtSources makes the go command run the test again when a source has changed: it takes a
// cached result for valid as long as the files that the test has looked at are the same, and
// does not see what the build in another process reads.
func lookAtSources(t *testing.T) {
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
}

// runExample runs a built example and returns its output and its exit status.
func runExample(t *testing.T, name string, args ...string) (output string, status int) {
	t.Helper()
	lookAtSources(t)
	command := exec.CommandContext(t.Context(), filepath.Join(os.Getenv(builtTree), "bin", name), args...)
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
	c, _ := startPeers(t, "alphabet/tandem.yaml")
	expect(t, "connection 0: ab\nconnection 1: cd\n", "alphabet", c.Args...)
	expect(t, "connection 0: "+"abcdefghijklmnopqrstuvwxyzab\n", "alphabet", "-connections", "1",
		"-requests", "28")
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
	c, _ := startPeers(t, "alphabet/tandem.yaml")
	for _, line := range []string{"26", "-1", "x", ""} {
		conn, err := net.Dial("tcp", c.Group.Peers[0].Listen)
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
	c, _ := startPeers(t, "httpget/tandem.yaml")
	expect(t, "This is file 0.\nThis is file 1.\n", "httpget", c.Args...)
	expect(t, "This is file 0.\nThis is file 1.\nThis is file 2.\n", "httpget", "-n", "3", "-transport")
	output, status := runExample(t, "httpget", "-n", "6")
	if status != 1 || !strings.Contains(output, "file5.txt: the server answered 404 Not Found") {
		t.Errorf("a missing file: status %d, output %q", status, output)
	}
}

// TestKeepAlive: the connection lasts, as it always does unless time is made to pass.
func TestKeepAlive(t *testing.T) {
	startPeers(t, "keepalive/tandem.yaml")
	for _, again := range []string{"-again=false", "-again"} {
		expect(t, "This is file 0.\nThis is file 1.\n", "keepalive", again)
		output, status := runExample(t, "keepalive", "-n", "3", again)
		if status != 1 || !strings.Contains(output, "file2.txt: the server answered 404 Not Found") {
			t.Errorf("a missing file: status %d, output %q", status, output)
		}
	}
}

func TestDownload(t *testing.T) {
	startPeers(t, "download/tandem.yaml")
	output := filepath.Join(t.TempDir(), "file")
	for _, parts := range []string{"1", "2", "7", "100"} {
		expect(t, output+": 120 bytes in "+parts+" parts\n", "download", "-threads", parts, "-o", output)
	}
	said, status := runExample(t, "download", "-url", "http://127.0.0.1:8080/none.txt", "-o", output)
	if status != 1 || !strings.Contains(said, "none.txt: the server answered 404 Not Found") {
		t.Errorf("a missing file: status %d, output %q", status, said)
	}
	said, status = runExample(t, "download", "-sha256", "00", "-o", output)
	if status != 1 || !strings.Contains(said, "what was written is not the file") {
		t.Errorf("a file with another sum: status %d, output %q", status, said)
	}
}

// TestAbstractServer: the client cannot tell it from Dropbear, one connection or several.
func TestAbstractServer(t *testing.T) {
	startPeers(t, "scpto/fixed/abstract.yaml")
	expect(t, "letter.txt: 33 bytes copied\n", "scpto")
	expect(t, "letter.txt: 33 bytes copied\n", "scpto-fixed")
	output, status := runExample(t, "scpto-fixed", "-connections", "3")
	for _, want := range []string{"letter.txt", "letter1.txt", "letter2.txt"} {
		if status != 0 || !strings.Contains(output, want+": 33 bytes copied\n") {
			t.Errorf("three files: status %d, output %q, without %s", status, output, want)
		}
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
	for _, name := range []string{"alphabet", "httpget", "keepalive", "scpto", "scpto-fixed"} {
		output, status := runExample(t, name, "-addr", "127.0.0.1:1")
		if status != 1 || !strings.Contains(output, "connection refused") {
			t.Errorf("%s: status %d, output %q", name, status, output)
		}
	}
}
