package ckptd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How a shared daemon is started, asked and stopped by a command. It is a process of its own, in a
// session of its own, and does not end with the command that has started it.

// SharedDaemon is a checkpoint daemon that several checks use at the same time.
type SharedDaemon struct {
	Socket     string // where it listens: path of a Unix socket
	MaxClients int
	MaxBytes   int64  // in the images of a client
	MaxImages  int    // of a client
	Log        string // file to which its messages are appended; empty: nobody sees them
}

// DefaultDaemon is the shared daemon that is meant where nothing is said.
func DefaultDaemon() SharedDaemon {
	return SharedDaemon{
		Socket: defaultSocket, MaxClients: DefaultMaxClients,
		MaxBytes: DefaultMaxBytes, MaxImages: DefaultMaxImages,
	}
}

// command starts the daemon.
func (d SharedDaemon) command() (*exec.Cmd, error) {
	file, err := programFile("", Program)
	if err != nil {
		return nil, err
	}
	c := exec.Command(file, "--listen", d.Socket,
		"--max-clients", strconv.Itoa(d.MaxClients), "--max-bytes", strconv.FormatInt(d.MaxBytes, 10),
		"--max-images", strconv.Itoa(d.MaxImages))
	c.Args[0] = Program
	return c, nil
}

// Become replaces this process by the daemon. It returns only if that fails.
func (d SharedDaemon) Become() error {
	c, err := d.command()
	if err != nil {
		return err
	}
	return syscall.Exec(c.Path, c.Args, os.Environ())
}

// Start starts the daemon, and returns its process ID when it listens. The daemon goes on when this
// process ends. Where it ends at once, what it has written says why.
func (d SharedDaemon) Start() (pid int, err error) {
	c, err := d.command()
	if err != nil {
		return 0, err
	}
	log, err := openLog(d.Log)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	// The file may have the messages of earlier daemons.
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	const patience, interval = 10 * time.Second, 2 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		// Another daemon may listen there: only its own pid counts.
		if status, err := d.Status(); err == nil && status.PID == c.Process.Pid {
			return status.PID, nil
		}
		select {
		case <-ended:
			text, _ := io.ReadAll(io.NewSectionReader(log, begin, 1<<20))
			return 0, errors.New(strings.TrimSpace(string(text)))
		case <-time.After(interval):
		}
		if time.Now().After(deadline) {
			c.Process.Kill()
			return 0, fmt.Errorf("the daemon did not listen at %s within %v, and was stopped",
				d.Socket, patience)
		}
	}
}

// openLog opens the file, or else one without a name. The text of a daemon that does not start is
// read from there.
func openLog(file string) (*os.File, error) {
	if file != "" {
		return os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	}
	f, err := os.CreateTemp("", "tandem-ckptd-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
