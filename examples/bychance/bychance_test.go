// Package bychance_test runs a program again and again as Go itself runs it, with the race
// detector, beside the real peers of its tandem.yaml: that is what a user does who has no model
// checker. It prints how often the program failed, and how, as JSON.
//
//	go test ./examples/bychance -run TestProgram -v -program DIRECTORY -most 1m
//
// The peers have the machine's clock and random numbers. They live in namespaces of their own, and
// the program is in their network. A run that lasts longer than the patience counts as one that
// hangs. Needs root.
package bychance_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/sys/netns"
)

var (
	program  = flag.String("program", "", "`directory` of the program that TestProgram runs")
	runs     = flag.Int("runs", 1000, "how often it runs at most")
	most     = flag.Duration("most", time.Minute, "how long that takes at most, but for the last run")
	patience = flag.Duration("patience", 10*time.Second, "how long a run may take")
)

// TestProgram prints how the program ends.
func TestProgram(t *testing.T) {
	if *program == "" {
		t.Skip("-program DIRECTORY says which program to run")
	}
	counted, err := count(*program, nil, *runs, *most, *patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(counted); err != nil {
		t.Fatal(err)
	}
}

// count builds the program of a directory, starts its peers, and runs it. The error is one of the
// build or of the peers: a run that fails is counted.
func count(directory string, arguments []string, runs int, most, patience time.Duration) (endings, error) {
	temporary, err := os.MkdirTemp("", "bychance-")
	if err != nil {
		return endings{}, err
	}
	defer os.RemoveAll(temporary)
	binary := filepath.Join(temporary, "program")
	build := exec.Command("go", "build", "-race", "-o", binary, ".")
	build.Dir = directory
	if out, err := build.CombinedOutput(); err != nil {
		return endings{}, fmt.Errorf("build %s: %w\n%s", directory, err, out)
	}
	config, err := configOf(directory)
	if err != nil {
		return endings{}, err
	}
	var counted endings
	run := func() {
		began := time.Now()
		for more := true; more; more = counted.Runs < runs && time.Since(began) < most {
			counted.add(runOnce(binary, directory, arguments, patience))
		}
	}
	err = inNetwork(config, run)
	return counted, err
}

// configOf is the configuration of a program, with its peers as they are without a checker: nobody
// chooses how they behave, and their clock is that of the machine. The zero value is that of a
// program without peers.
func configOf(directory string) (configs.Config, error) {
	file, err := configs.FileIn(directory)
	if err != nil || file == "" {
		return configs.Config{}, err
	}
	config, err := configs.Load(file)
	if err != nil || config.Group == nil {
		return configs.Config{}, err
	}
	for i := range config.Group.Peers {
		p := &config.Group.Peers[i]
		if p.IsClient() {
			return config, fmt.Errorf("%s: peer %s is a client, which only a checker starts in time: "+
				"leave this program out", file, p.Name)
		}
		p.Choices, p.Behaviour, p.VirtualClock = 0, 0, false
	}
	return config, nil
}

// inNetwork starts the peers, and calls run on a thread that has their network. Without peers the
// network is an empty one.
func inNetwork(config configs.Config, run func()) error {
	within := func() error { run(); return nil }
	if config.Group == nil {
		empty, err := netns.New()
		if err != nil {
			return err
		}
		defer empty.Close()
		return netns.InFile(empty, within)
	}
	ctx := context.Background()
	client, err := ckptd.Spawn(ctx, ckptd.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	started, err := client.Start(ctx, *config.Group)
	if err != nil {
		return err
	}
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", started.PID()))
	if err != nil {
		return err
	}
	defer network.Close()
	if err := netns.InFile(network, within); err != nil {
		return err
	}
	// A peer that has died answers nobody: what was counted after that says nothing.
	return started.Check()
}

// runOnce runs the program and says how that ends. The peers go on from run to run, as they do for
// a user: what a run leaves behind in them, the next one finds.
func runOnce(binary, directory string, arguments []string, patience time.Duration) ending {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Dir = directory
	// Otherwise each run sleeps for a second in its end.
	command.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return hangs
	case err == nil:
		return endingOf(0, output)
	case errors.As(err, &exit):
		return endingOf(exit.ExitCode(), output)
	}
	return fails
}
