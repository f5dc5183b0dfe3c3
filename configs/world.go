package configs

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut"
)

// worldKeys are the keys about what the program finds beside its peers. What is nil was not given.
type worldKeys struct {
	// The standard input: its text, or a file that has it. One of the two at most.
	Stdin     *string
	StdinFrom *string `mapstructure:"stdin_from"`
	Hostname  string
	// How much an execution may write to files, and how large its heap may get.
	DiskMiB   int `mapstructure:"disk_mib"`
	MemoryMiB int `mapstructure:"memory_mib"`
	// Signals by name, and how many may arrive in an execution.
	Signals     []string
	SignalLimit int `mapstructure:"signal_limit"`
	// How many reads and writes may transfer less than they could.
	ShortReads  int `mapstructure:"short_reads"`
	ShortWrites int `mapstructure:"short_writes"`
	// Faults as for ParseFaults; timers that may fire early, of the program and of the peers.
	Faults      string `mapstructure:"faults"`
	EarlyTimers *int   `mapstructure:"early_timers"`
	PeerTimers  int    `mapstructure:"peer_timers"`
}

// world turns the keys into a world, and says what is wrong with them. Sizes are in MiB in the file
// and in bytes in the world.
func (k worldKeys) world(read func(string) ([]byte, error)) (w sut.Environment, problems []Problem) {
	report := func(key string, err error) {
		if err != nil {
			problems = append(problems, Problem{Key: key, What: err.Error()})
		}
	}
	var err error
	w.Stdin, err = k.input(read)
	report("stdin_from", err)
	w.Hostname = k.Hostname
	report("hostname", validHostname(k.Hostname))
	w.Disk = int64(k.DiskMiB) << 20
	report("disk_mib", within(k.DiskMiB, MaxDiskMiB))
	w.Memory = int64(k.MemoryMiB) << 20
	report("memory_mib", within(k.MemoryMiB, MaxMemoryMiB))
	w.SignalLimit = k.SignalLimit
	report("signal_limit", within(k.SignalLimit, MaxSignalLimit))
	w.ShortReads, w.ShortWrites = k.ShortReads, k.ShortWrites
	// Zero stands for none, and is not given as a number.
	if k.ShortReads != 0 {
		report("short_reads", within(k.ShortReads, MaxShort))
	}
	if k.ShortWrites != 0 {
		report("short_writes", within(k.ShortWrites, MaxShort))
	}
	if k.Faults != "" {
		f, err := ParseFaults(k.Faults)
		report("faults", err)
		f.setTo(&w)
	}
	w.PeerTimers = k.PeerTimers // see Config.problems: flags set it, too
	for i, name := range k.Signals {
		s, err := signalByName(name)
		report(fmt.Sprintf("signals[%d]", i), err)
		w.Signals = append(w.Signals, s)
	}
	if len(k.Signals) > sut.MaxSignals {
		report("signals", fmt.Errorf("there are %d, and at most %d are allowed: leave some "+
			"out", len(k.Signals),
			sut.MaxSignals))
	}
	return w, problems
}

// input is the standard input of the program, from the configuration or from a file beside it.
// Without either it is empty. Read reads a file beside the configuration.
func (k worldKeys) input(read func(string) ([]byte, error)) ([]byte, error) {
	switch {
	case k.Stdin != nil && k.StdinFrom != nil:
		return nil, errors.New("give either stdin, the text, or stdin_from, the file that has it")
	case k.Stdin != nil:
		return []byte(*k.Stdin), nil
	case k.StdinFrom != nil:
		return read(*k.StdinFrom)
	}
	return nil, nil
}

// within is an error if a number is not from 1 to most.
func within(n, most int) error {
	if n < 1 || n > most {
		return fmt.Errorf("%d is not allowed: give a number from 1 to %d", n, most)
	}
	return nil
}

// validHostname is an error if a name cannot be that of a machine. Those are the names that
// hostname(7) allows, in at most as many letters as a label of the domain name system.
func validHostname(name string) error {
	if len(name) < 1 || len(name) > 63 {
		return fmt.Errorf("%.80q is not allowed: give a name of 1 to 63 letters, digits, dots and hyphens",
			name)
	}
	for _, c := range name {
		if c != '.' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Errorf(
				"%.80q is not allowed: give a name of 1 to 63 letters, digits, dots and hyphens", name)
		}
	}
	return nil
}

// signalByName is a signal that a program can handle. The error says why another one cannot be
// given. SIGKILL and SIGSTOP never reach a handler, and the runtime makes panics of those that
// faults of the processor cause.
func signalByName(name string) (syscall.Signal, error) {
	s := unix.SignalNum(name)
	switch s {
	case 0:
		return 0, fmt.Errorf("%.40q is no signal: give names such as SIGINT, SIGTERM or SIGHUP", name)
	case syscall.SIGKILL, syscall.SIGSTOP:
		return 0, fmt.Errorf("%s cannot be handled by a program: leave it out", name)
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGPROF:
		return 0, fmt.Errorf("%s is for the Go runtime: leave it out", name)
	}
	return s, nil
}
