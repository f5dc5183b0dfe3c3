package ckptd

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// crowd starts a peer that has many threads, and epoll instances that watch many descriptors each.
func crowd(t *testing.T, c *Client, program []byte, threads, instances, watched int) *Group {
	t.Helper()
	command := []string{"{scratch}/many", strconv.Itoa(threads), strconv.Itoa(instances), strconv.Itoa(watched)}
	return start(t, c, peers.Group{
		Peers: []peers.Peer{{Name: "many", Command: command}},
		Files: []peers.File{{Path: "many", Content: program, Mode: 0o755}},
	})
}

func buildCrowd(t *testing.T) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), "many")
	if out, err := exec.Command("cc", "-O1", "-Wall", "-o", program, "testdata/many.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return readFile(t, program)
}

// TestManyThreadsAndRegistrations: what cannot be made again is refused when it is saved, and hundreds of threads can.
func TestManyThreadsAndRegistrations(t *testing.T) {
	program := buildCrowd(t)
	c := spawn(t, Options{Backend: BackendMemory})
	for _, s := range []struct {
		threads, instances, watched int
		refusal                     string // none: it is saved
	}{
		{threads: 200}, {threads: 340}, {threads: 700},
		{threads: 1000, refusal: "with 1001 threads, 4 descriptors and "}, // who could be copied
		{threads: 1800, refusal: "there is no room for "},                 // who could not be asked either
		{instances: 30, watched: 120},
		{instances: 60, watched: 120, refusal: "could not be made again"},
		{threads: 400, instances: 30, watched: 120, refusal: "could not be made again"},
	} {
		t.Run(fmt.Sprintf("%d threads, %d times %d", s.threads, s.instances, s.watched), func(t *testing.T) {
			g, ctx := crowd(t, c, program, s.threads, s.instances, s.watched), testContext(t)
			image, err := g.Checkpoint(ctx)
			if s.refusal == "" {
				for n := 0; n < 2 && err == nil; n++ { // which compares it with what it was
					err = g.Restore(ctx, image.ID)
				}
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), s.refusal) || !strings.Contains(err.Error(), "the memory backend cannot hold") {
				t.Errorf("%v\nwant %q", err, s.refusal)
			}
			if err := g.Quiesce(ctx, nil); err != nil {
				t.Errorf("the group does not go on: %v", err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCrowdFallsBack: CRIU saves what there is no room for.
func TestCrowdFallsBack(t *testing.T) {
	g, ctx := crowd(t, spawn(t, Options{Backend: BackendAuto}), buildCrowd(t), 0, 60, 120), testContext(t)
	image, err := g.Checkpoint(ctx)
	if err == nil {
		err = g.Restore(ctx, image.ID)
	}
	if err != nil || image.Backend != BackendCRIU || !strings.Contains(image.Refusal, "could not be made again") {
		t.Errorf("an image by %s, %v: %s", image.Backend, err, image.Refusal)
	}
}

// TestPlansThatDoNotFit are those in which memory is mapped anew, too.
func TestPlansThatDoNotFit(t *testing.T) {
	made := func(generation, descriptors, mappings int, m mapping) *process {
		p := &process{inner: 7, generation: generation, threads: []*thread{{}}}
		for n := range descriptors {
			p.descriptors = append(p.descriptors, descriptor{number: n, twin: -1})
		}
		for n := range mappings {
			each := m
			each.from, each.length = uint64(2*n)<<12, 1<<12
			p.mappings = append(p.mappings, &each)
		}
		return p
	}
	own := mapping{touched: true, protection: unix.PROT_READ, flags: []string{"rd"}}
	library := mapping{inode: 1, name: runDirectory + "/library.so"}
	for name, test := range map[string]struct {
		p    *process
		want string
	}{
		"memory that is not mapped anew": {made(maxGeneration-1, 3, maxCalls, own), ""},
		"some of it is mapped anew":      {made(maxGeneration, 3, maxCalls/2, own), ""},
		"too much of it":                 {made(maxGeneration, 3, maxCalls, own), "process 7 of the group, with 1 threads, 3 descriptors and 5000 mappings, could not be made again"},
		"files of the group":             {made(0, maxDescriptorsHeld, 11, library), ""},
		"too many to be sent":            {made(0, maxDescriptorsHeld, 12, library), "has 252 open and mapped files to be opened again, more than 251"},
	} {
		err := test.p.checkPlan()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, errRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
