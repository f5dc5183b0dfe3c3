// Package natsd has NATS servers for tests. Each is a process of its own, which can be killed, and
// comes back at the same address with what it has stored.
package natsd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// variable of the environment with which a test is a server.
const variable = "TANDEM_TEST_NATSD"

// config is what a server is started with.
type config struct {
	Port int
	Dir  string
}

// Main makes the process a server if its environment says so, and does not return then. It is to be
// called first in TestMain.
func Main() {
	var c config
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: c.Port, JetStream: true,
		StoreDir: c.Dir, JetStreamMaxStore: 8 << 30, NoLog: true})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the NATS server does not begin to listen")
	}
	_, port, _ := net.SplitHostPort(s.Addr().String())
	fmt.Println("listens", port)
	s.WaitForShutdown()
	os.Exit(1)
}

// Server is a server in another process.
type Server struct {
	URL string
	t   testing.TB
	c   config
	cmd *exec.Cmd
}

// Start starts a server, which ends with the test. It keeps what it stores in a directory.
func Start(t testing.TB, dir string) *Server {
	t.Helper()
	s := &Server{t: t, c: config{Port: server.RANDOM_PORT, Dir: dir}}
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// Restart starts a server that was killed.
func (s *Server) Restart() {
	s.t.Helper()
	text, err := json.Marshal(s.c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command("/proc/self/exe")
	s.cmd.Env = append(os.Environ(), variable+"="+string(text))
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "listens ")
	if s.c.Port, _ = strconv.Atoi(port); !ok || s.c.Port == 0 {
		s.t.Fatalf("the NATS server says %q, %v", line, err)
	}
	s.URL = "nats://127.0.0.1:" + port
}

// Kill kills the server.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Pid is its process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
