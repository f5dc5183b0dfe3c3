package check

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/strategy"
)

// saboteur has a checkpoint taken after every input, and does harm now and then.
type saboteur struct {
	strategy.Strategy
	inputs int
	harm   func(input int)
}

func (s *saboteur) Checkpoint(step strategy.Step) bool {
	s.inputs++
	s.harm(s.inputs)
	return true
}

// TestStorageFails damages all images there are, and leaves no room for more, in the middle of
// a search. What it finds is the same: places are come to from older images, or from nothing.
func TestStorageFails(t *testing.T) {
	undisturbed := sabotage(t, ckptd.BackendMemory, func(int, string) {})
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendMemory} {
		t.Run(backend, func(t *testing.T) {
			got := sabotage(t, backend, func(input int, images string) {
				switch input % 60 {
				case 20:
					damageAll(t, images)
				case 40:
					fill(t, filepath.Join(images, "fill"))
				case 44:
					if err := os.Remove(filepath.Join(images, "fill")); err != nil {
						t.Error(err)
					}
				}
			})
			if got.Verdict.Kind != explore.Holds || got.Verdict.Executions != undisturbed.Verdict.Executions || got.Verdict.Transitions != undisturbed.Verdict.Transitions {
				t.Errorf("%+v\nundisturbed: %+v", got.Verdict, undisturbed.Verdict)
			}
			if c := got.Counts; c.Restarts < 2 || c.Replayed <= undisturbed.Counts.Replayed || c.Unstored == 0 || !strings.Contains(got.Unstored, ckptd.ErrNotStored.Error()) {
				t.Errorf("the damage or the lack of room was not noticed: %+v, %s", c, got.Unstored)
			}
		})
	}
}

func sabotage(t *testing.T, backend string, harm func(input int, images string)) *Result {
	t.Helper()
	o := alphabet.options(t)
	if err := o.Client.Close(); err != nil { // there is to be one daemon only
		t.Fatal(err)
	}
	client, err := ckptd.Spawn(context.Background(), ckptd.Options{MaxBytes: 192 << 20, Backend: backend, Daemon: filepath.Join(tree, "bin/tandem-ckptd"), Proxy: filepath.Join(tree, "bin/tandem-proxy")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o.Client = client
	images := fmt.Sprintf("/proc/%s/root/run/tandem/images", ownDaemon(t))
	o.Strategy = &saboteur{Strategy: o.Strategy, harm: func(input int) { harm(input, images) }}
	result, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// ownDaemon is the pid of the daemon that this process has started.
func ownDaemon(t *testing.T) string {
	t.Helper()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for child := range strings.FieldsSeq(string(children)) {
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); bytes.Contains(line, []byte("tandem-ckptd")) {
				return child
			}
		}
	}
	t.Fatal("there is no daemon")
	return ""
}

// damageAll changes a byte in the largest file of every image, by CRIU one of its memory.
func damageAll(t *testing.T, images string) {
	t.Helper()
	all, err := filepath.Glob(images + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range all {
		largest, size := "", int64(0)
		err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".log") {
				return err
			}
			info, err := d.Info()
			if ofMemory := strings.HasPrefix(d.Name(), "pages-"); err == nil && (ofMemory || info.Size() > size) {
				largest, size = path, info.Size()
				if ofMemory {
					return fs.SkipAll
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(largest)
		if err == nil {
			content[len(content)/2]++ // images share files: two flips of a bit would be none
			err = os.WriteFile(largest, content, 0)
		}
		if err != nil {
			t.Fatal(err)
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
