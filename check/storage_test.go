package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/strategy"
)

// saboteur has a checkpoint taken after every input, and does harm now and then.
type saboteur struct {
	strategy.Strategy
	inputs int
	harm   func(input int)
}

func (s *saboteur) Checkpoint(step strategy.Step) bool {
	if step.Kind == strategy.Return {
		return false
	}
	s.inputs++
	s.harm(s.inputs)
	return true
}

// TestStorageFails damages all images there are, leaves no room for more, and has them on a file
// system that is read-only, again and again during a search. What it finds is the same: places are
// come to from older images, or from nothing.
func TestStorageFails(t *testing.T) {
	executions, backends := cases(70, 24), []string{ckptd.BackendMemory}
	if *deep { // TestStorageFailsOnReturn has CRIU
		backends = append(backends, ckptd.BackendCRIU)
	}
	undisturbed := sabotage(t, ckptd.BackendMemory, executions, func(int, string) {})
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			got := sabotage(t, backend, executions, func(input int, images string) {
				switch input % 60 {
				case 10:
					damageAll(t, images, func(content []byte) []byte { return content[:len(content)/2] })
				case 20:
					damageAll(t, images, func(content []byte) []byte {
						content[len(content)/2]++ // images share files: two flips of a bit would be none
						return content
					})
				case 40:
					fill(t, filepath.Join(images, "fill"))
				case 44:
					if err := os.Remove(filepath.Join(images, "fill")); err != nil {
						t.Error(err)
					}
				case 50:
					mountImages(t, func(images string) error {
						return errors.Join(unix.Mount(images, images, "", unix.MS_BIND, ""),
							unix.Mount("", images, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
					})
				case 54:
					mountImages(t, func(images string) error { return unix.Unmount(images, unix.MNT_DETACH) })
				}
			})
			if got.Verdict.Executions != executions ||
				got.Verdict.Transitions != undisturbed.Verdict.Transitions {
				t.Errorf("%+v\nundisturbed: %+v", got.Verdict, undisturbed.Verdict)
			}
			if c := got.Counts; c.Restarts < 2 || c.Replayed <= undisturbed.Counts.Replayed ||
				c.Unstored == 0 || !strings.Contains(got.Unstored, ckptd.ErrNotStored.Error()) {
				t.Errorf("the damage or the lack of room was not noticed: %+v, %s", c, got.Unstored)
			}
		})
	}
}

// TestFirstCheckpointIsNotStored: without room for the first checkpoint of all, which CRIU ends the
// peers with, they start again and the search goes on, with later ones.
func TestFirstCheckpointIsNotStored(t *testing.T) {
	const executions = 5
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendMemory} {
		got := sabotage(t, backend, executions, func(input int, images string) {
			switch input {
			case 1:
				fill(t, filepath.Join(images, "fill"))
			case 3:
				if err := os.Remove(filepath.Join(images, "fill")); err != nil {
					t.Error(err)
				}
			}
		})
		if c := got.Counts; got.Verdict.Executions != executions || c.Unstored == 0 || c.Restores == 0 {
			t.Errorf("%s: %+v, %+v", backend, got.Verdict, c)
		}
	}
}

// TestLossIsNamed: where peers that answer at random are given inputs again because checkpoints of
// them were lost, the error says so, and where that is for lack of room, the verdict is unknown,
// and names the setting; though the last one that was left has been restored meanwhile.
func TestLossIsNamed(t *testing.T) {
	for name, harm := range map[string]func(images string){
		"no room": func(images string) { fill(t, filepath.Join(images, "fill")) },
		"killed":  func(string) { killBelow(ownDaemon(t), "tandem-proxy") },
	} {
		t.Run(name, func(t *testing.T) {
			o := randomAlphabet.options(t)
			got, err := trySabotage(t, ckptd.BackendCRIU, 1000, o, func(images string) strategy.Strategy {
				return &saboteur{harm: func(input int) {
					if input > 2 {
						harm(images)
					}
				}}
			})
			if name == "no room" {
				if err != nil || got.Verdict.Kind != explore.Unknown ||
					!strings.Contains(got.Verdict.Reason, "do not fit in 1024 MiB") ||
					!strings.Contains(got.Verdict.Reason, "--checkpoint-mib") {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			var differs *iocache.Inconsistency
			if !errors.As(err, &differs) ||
				!strings.Contains(err.Error(), "checkpoints of the peers were lost") {
				t.Error(err)
			}
		})
	}
}

// TestPeersAreKilled kills peers and their proxy again and again, while they answer, are saved, or
// brought back. They are brought back, and what is found is the same.
func TestPeersAreKilled(t *testing.T) {
	const executions = 15
	o := alphabet.options(t)
	o.Search = untilViolation(maxExecutions(dporSearch(), executions))
	undisturbed := check(t, o)
	if err := o.Client.Close(); err != nil { // there is to be one daemon only
		t.Fatal(err)
	}
	backends := []string{ckptd.BackendMemory}
	if *deep {
		backends = append(backends, ckptd.BackendCRIU)
	}
	for _, backend := range backends {
		random := rand.New(rand.NewPCG(1, 2)) // the moments are random all the same
		killed := make(chan bool, 1)
		killed <- false // nobody is at it
		kills := 0
		got := sabotage(t, backend, executions, func(input int, _ string) {
			if input%6 != 0 {
				return
			}
			if <-killed {
				kills++
			}
			delay, command := time.Duration(random.IntN(5000))*time.Microsecond,
				[]string{"tandem-proxy", "alphabet-server"}[random.IntN(2)]
			daemon := ownDaemon(t)
			go func() {
				time.Sleep(delay) // to kill at another moment, not to wait for anything
				killed <- killBelow(daemon, command)
			}()
		})
		<-killed
		if got.Verdict.Executions != executions ||
			got.Verdict.Transitions != undisturbed.Verdict.Transitions || kills < 3 ||
			got.Counts.Killed == 0 {
			t.Errorf("%s: %+v; %d were killed, of which the check noticed %d", backend, got.Verdict, kills,
				got.Counts.Killed)
		}
	}
}

// assassin is a strategy that takes no checkpoints, and kills peers that have just been started.
type assassin struct {
	victims int
	kill    func()
}

func (a *assassin) Checkpoint(step strategy.Step) bool {
	if step.Kind == strategy.Start && a.victims > 0 {
		a.victims--
		a.kill()
	}
	return false
}

// TestRefusedByTheDead: that a connection is refused because the server was killed is no answer of
// the server.
func TestRefusedByTheDead(t *testing.T) {
	o := alphabet.options(t)
	got := sabotageBy(t, ckptd.BackendMemory, 3, o, func(string) strategy.Strategy {
		daemon := ownDaemon(t)
		return &assassin{victims: driver.MaxAttempts - 1, kill: func() {
			if !killBelow(daemon, "alphabet-server") {
				t.Error("there was nobody to kill")
			}
		}}
	})
	if got.Verdict.Kind != explore.Unknown || got.Verdict.Executions != 3 ||
		got.Counts.Killed != driver.MaxAttempts-1 {
		t.Errorf("%+v, %+v", got.Verdict, got.Counts)
	}
}

// killBelow kills the processes of a daemon whose command lines contain a word.
func killBelow(parent, word string) (killed bool) {
	lists, _ := filepath.Glob("/proc/" + parent + "/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			killed = killBelow(child, word) || killed
			pid, err := strconv.Atoi(child)
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); err == nil &&
				bytes.Contains(line, []byte(word)) {
				killed = unix.Kill(pid, unix.SIGKILL) == nil || killed
			}
		}
	}
	return killed
}

// sabotage runs some of the 70 executions of an example, and harms what they need after each new
// input.
func sabotage(t *testing.T, backend string, executions int, harm func(input int, images string)) *Result {
	t.Helper()
	o := alphabet.options(t)
	return sabotageBy(t, backend, executions, o, func(images string) strategy.Strategy {
		return &saboteur{Strategy: o.Strategy, harm: func(input int) { harm(input, images) }}
	})
}

// sabotageBy runs a check with a daemon of its own, and a strategy that is told where its images
// are.
func sabotageBy(t *testing.T, backend string, executions int, o Options,
	by func(images string) strategy.Strategy) *Result {
	t.Helper()
	result, err := trySabotage(t, backend, executions, o, by)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// trySabotage is sabotageBy where it is an error that is expected.
func trySabotage(t *testing.T, backend string, executions int, o Options,
	by func(images string) strategy.Strategy) (*Result, error) {
	t.Helper()
	o.Search = untilViolation(maxExecutions(dporSearch(), executions))
	if err := o.Client.Close(); err != nil { // there is to be one daemon only
		t.Fatal(err)
	}
	client, err := ckptd.Spawn(context.Background(), ckptd.Options{MaxBytes: 192 << 20, Backend: backend,
		Daemon: filepath.Join(tree, "bin/tandem-ckptd"), Proxy: filepath.Join(tree, "bin/tandem-proxy")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o.Client = client
	images := fmt.Sprintf("/proc/%s/root/run/tandem/images", ownDaemon(t))
	o.Strategy = by(images)
	return Run(context.Background(), o)
}

// mountImages calls mount with the directory of the images, where the daemon of this process has
// its mounts.
func mountImages(t *testing.T, mount func(images string) error) {
	t.Helper()
	err := osthread.Run(func() error {
		namespace, err := os.Open("/proc/" + ownDaemon(t) + "/ns/mnt")
		if err != nil {
			return err
		}
		defer namespace.Close()
		if err := unix.Unshare(unix.CLONE_FS); err != nil { // a thread alone may change its mount namespace
			return err
		}
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		return mount("/run/tandem/images")
	})
	if err != nil {
		t.Error(err)
	}
}

// ownDaemon is the pid of the daemon that this process has started.
func ownDaemon(t *testing.T) string {
	t.Helper()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for child := range strings.FieldsSeq(string(children)) {
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); bytes.Contains(line,
				[]byte("tandem-ckptd")) {
				return child
			}
		}
	}
	t.Error("there is no daemon")
	return ""
}

// damageAll damages the largest file of every image, by CRIU one of its memory.
func damageAll(t *testing.T, images string, damage func(content []byte) []byte) {
	t.Helper()
	all, err := filepath.Glob(images + "/*")
	if err != nil {
		t.Error(err)
	}
	for _, image := range all {
		largest, size := "", int64(0)
		err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".log") {
				return err
			}
			info, err := d.Info()
			if ofMemory := strings.HasPrefix(d.Name(), "pages-"); err == nil &&
				(ofMemory && info.Size() > 0 || info.Size() > size) {
				largest, size = path, info.Size()
				if ofMemory {
					return fs.SkipAll
				}
			}
			return err
		})
		var content []byte
		if err == nil && largest != "" { // else it was damaged before
			if content, err = os.ReadFile(largest); err == nil {
				err = os.WriteFile(largest, damage(content), 0)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// fill leaves no room on the file system of a file, by means of it.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize); err != nil {
		t.Fatal(err)
	}
}

// TestProxyIsKilled kills the proxy, and with it the peers, before they have to go back. Images of
// CRIU are there still; those in memory have ended with it. Then peers that repeat their answers
// are started anew, and of others it is said what has happened.
func TestProxyIsKilled(t *testing.T) {
	for _, c := range []struct {
		example  example
		backend  string
		restarts int
		differs  bool
	}{
		{randomAlphabet, ckptd.BackendCRIU, 0, false},
		{alphabet, ckptd.BackendMemory, 1, false},
		{randomAlphabet, ckptd.BackendMemory, 1, true},
	} {
		t.Run(c.example.config+"/"+c.backend, func(t *testing.T) {
			config, err := configs.Load(filepath.Join(tree, "examples", c.example.config))
			if err != nil {
				t.Fatal(err)
			}
			client := newClientBy(t, c.backend)
			side := newDriver(client, *config.Group, strategy.Always{})
			defer side.Close()
			talk := side.NewSession(&PeerCounts{})
			// Letters are small or capital at random: hardly ever the same ones again.
			same := strings.Repeat("0\n", 32)
			if err := converse(talk, same, "1\n"); err != nil {
				t.Fatal(err)
			}
			killProxy(t, client)
			err = converse(talk, same, "2\n")
			var differs *iocache.Inconsistency
			switch {
			case c.differs && (!errors.As(err, &differs) || !strings.Contains(err.Error(), "checkpoints of "+
				"the peers were lost (there is no such image (any more): group 1, image g1-")):
				t.Errorf("error %v", err)
			case !c.differs && err != nil:
				t.Error(err)
			}
			if n := talk.Counts.Restarts; n != c.restarts {
				t.Errorf("%d restarts, want %d", n, c.restarts)
			}
		})
	}
}

// newDriver keeps peers at the cursor of a cache in scope group.
func newDriver(c *ckptd.Client, spec peers.Group, s strategy.Strategy) *driver.Driver {
	return driver.New(context.Background(), driver.Config{
		Start: driver.From(c), Spec: spec, Strategy: s, Patience: watch.DefaultPatience,
	})
}

// converse is an execution in which a program connects to the peer and sends something.
func converse(talk *driver.Session, sends ...string) error {
	talk.Rewind()
	if _, err := talk.Exchange(model.Input{Kind: model.Connect, Addr: "127.0.0.1:7000",
		Name: "1"}); err != nil {
		return err
	}
	for _, data := range sends {
		if _, err := talk.Exchange(model.Input{Kind: model.Send, Data: []byte(data)}); err != nil {
			return err
		}
	}
	return nil
}

// killProxy kills the proxy of the only group, and returns when its daemon knows.
func killProxy(t *testing.T, client *ckptd.Client) {
	t.Helper()
	killed := 0
	lists, _ := filepath.Glob("/proc/" + ownDaemon(t) + "/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(child)
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); err == nil &&
				bytes.Contains(line, []byte("tandem-proxy")) && unix.Kill(pid, unix.SIGKILL) == nil {
				killed++
			}
		}
	}
	for {
		s, err := client.Status(context.Background())
		if err != nil || killed != 1 || len(s.Groups) != 1 {
			t.Errorf("%d proxies were killed, of the groups %+v: %v", killed, s.Groups, err)
			return
		}
		if s.Groups[0].State != "runs" && s.Groups[0].State != "at work" {
			return
		}
	}
}

// TestAnswerThatFoundNoRoom: the peers were given an input, and their answer is not in the cache.
// What they are asked next, from where they stood before, is answered by peers that were never
// given it.
func TestAnswerThatFoundNoRoom(t *testing.T) {
	config, err := configs.Load(filepath.Join(tree, "examples", alphabet.config))
	if err != nil {
		t.Fatal(err)
	}
	// Each answer repeats all before it.
	config.Group.Peers[0].Command = append(config.Group.Peers[0].Command, "-history")
	answers := map[bool]model.Answer{}
	for _, disturbed := range []bool{false, true} {
		side := newDriver(newClientBy(t, ckptd.BackendMemory), *config.Group, strategy.Never{})
		defer side.Close()
		talk := side.NewSession(&PeerCounts{})
		if err := converse(talk); err != nil {
			t.Fatal(err)
		}
		if disturbed {
			side.Cache().Limit(1)
			var full *iocache.LimitError
			if _, err := talk.Exchange(model.Input{Kind: model.Send, Data: []byte("0\n")}); !errors.As(err,
				&full) {
				t.Fatalf("a cache without room: %v", err)
			}
			side.Cache().Limit(1 << 30)
			if err := converse(talk); err != nil {
				t.Fatal(err)
			}
		}
		if answers[disturbed], err = talk.Exchange(
			model.Input{Kind: model.Send, Data: []byte("1\n")}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(answers[false], answers[true]); diff != "" || len(answers[true].Deliveries) == 0 {
		t.Errorf("the answer (-undisturbed +after an answer that found no room):\n%s", diff)
	}
}
