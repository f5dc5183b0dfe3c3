package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cable joins a network namespace to this one. A worker in it can be cut off.
type cable struct {
	t              *testing.T
	namespace, end string // end is that of the cable in this namespace
	address        string
}

// lay lays a cable.
func lay(t *testing.T) *cable {
	t.Helper()
	id := os.Getpid() % 1e6
	c := &cable{t: t, namespace: fmt.Sprint("tandem-cut-", id), end: fmt.Sprint("tcut", id),
		address: "10.211.57.1"}
	t.Cleanup(func() {
		c.try("link", "delete", c.end)
		c.try("netns", "delete", c.namespace)
	})
	c.ip("netns", "add", c.namespace)
	c.ip("link", "add", c.end, "type", "veth", "peer", "name", "eth0", "netns", c.namespace)
	c.ip("addr", "add", c.address+"/24", "dev", c.end)
	c.ip("link", "set", c.end, "up")
	c.ip("-n", c.namespace, "addr", "add", "10.211.57.2/24", "dev", "eth0")
	c.ip("-n", c.namespace, "link", "set", "eth0", "up")
	return c
}

// try is ip for what may be gone already.
func (c *cable) try(args ...string) string {
	out, _ := exec.Command("ip", args...).CombinedOutput()
	return string(out)
}

// ip runs the command of that name.
func (c *cable) ip(args ...string) {
	c.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		c.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// programs are those that a process has started to check a model, and that have used the processor
// for so many hundredths of a second.
func programs(ancestor, ticks int) (list []int) {
	for _, pid := range descendants(ancestor, nil) {
		p, ok := readProcess(pid)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if !ok || err != nil || filepath.Base(p.executable) != "program" {
			continue
		}
		// The fields behind the name, which is in brackets: user and system time are 12th and 13th.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields, user, system := strings.Fields(rest), 0, 0
		if len(fields) > 12 {
			_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
		}
		if user+system >= ticks {
			list = append(list, pid)
		}
	}
	return list
}

// until looks again and again, until something is so.
func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !isSo(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within three minutes: %s", what)
		}
	}
}

// begin starts tandem, whose errors go to a file that is returned as a function.
func begin(t *testing.T, name string, args ...string) (c *exec.Cmd, log func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c = exec.Command(args[0], args[1:]...)
	c.Dir = "../.."
	c.Env = append(os.Environ(), "TMPDIR="+tree)
	c.Stdout, c.Stderr = &bytes.Buffer{}, file
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// Workers end with the server of the process that leads, sooner or later.
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// TestProtocolCut: the network of one worker is gone while it does a part of a search, until
// another process has become that part, and is there again. The result is that of one process, and
// the worker says that the server is gone. With -deep it is gone for a minute.
func TestProtocolCut(t *testing.T) {
	model, least := "twophase:8", time.Duration(0)
	if *deep {
		model, least = "twophase:9", time.Minute
	}
	alone := exec.Command("go", "run", together, model)
	alone.Dir = "../.."
	want, err := alone.Output()
	if err != nil {
		t.Fatal(err)
	}
	c, tandem := lay(t), filepath.Join(bin, "tandem")
	lead, log := begin(t, "lead", tandem, "protocol", together, "--parts", "2", "--partition", "hash",
		"--checkpoint", "1ms", "--distribute", "embedded="+c.address+":0", "--", model)
	url := ""
	until(t, "the server is there", func() bool {
		url = regexp.MustCompile(`nats:\S+`).FindString(log())
		return url != ""
	})
	far, said := begin(t, "far", "ip", "netns", "exec", c.namespace, tandem, "worker", url)
	near, _ := begin(t, "near", tandem, "worker", url)
	until(t, "the worker in the namespace has a part", func() bool {
		return len(programs(far.Process.Pid, 30)) > 0
	})
	c.ip("link", "set", c.end, "down")
	gone := time.Now()
	until(t, "another process is that part", func() bool { return len(programs(near.Process.Pid, 0)) == 2 })
	until(t, "the worker says that the server is gone", func() bool {
		return strings.Contains(said(), "the NATS server is gone") && time.Since(gone) >= least
	})
	c.ip("link", "set", c.end, "up")
	if err := lead.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log())
	}
	if got := fmt.Sprint(lead.Stdout); got != string(want) {
		t.Errorf("%s, and alone %s", got, want)
	}
	if !regexp.MustCompile(` [1-9]\d* processes were lost`).MatchString(log()) {
		t.Errorf("no process was lost:\n%s", log())
	}
	t.Logf("gone for %v; the worker has said:\n%s", time.Since(gone).Round(time.Second), said())
}
