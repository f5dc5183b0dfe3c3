// Package configs reads the configuration of a check from a YAML file: the
// program's arguments, the peers it talks to, and the bounds of the search.
//
// example.yaml shows every key. Whatever is wrong with a file is reported at once
// and with its line; a key that is not known is an error, since a misspelt bound
// would otherwise go unnoticed.
package configs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// Config is a checked configuration. Load and Default return valid ones, and so does ParseFaults
// with SetFaults. What the command line changes afterwards is checked by Validate.
//
// A configuration is a value that nobody changes during a check: several goroutines may read it.
type Config struct {
	// Args are the arguments of the SUT when none are given on the command line.
	Args []string
	// Env is the environment of the SUT, "NAME=value", in the order of the file.
	Env []string
	// Group is the peers, valid; nil if there are none.
	Group *peers.Group
	// Strategy is the name of the checkpoint strategy, one that strategy.ByName knows.
	Strategy string
	// Backend is what takes checkpoints: one of Backends.
	Backend string
	// Scope is that of the I/O cache: one of Scopes.
	Scope string
	// Quiescence is how it is told that the peers are quiescent: one of Quiescences.
	Quiescence string
	Room
	// Masks are fields in the answers of the peers that may differ, at most maxMasks.
	Masks []Mask
	Others
	Bounds Bounds
	// Leaks makes goroutines that are left blocked for ever at the end a violation.
	Leaks bool
	// Races are the packages where data races are looked for: main, direct, all, PATH, PATH/...;
	// empty: none.
	Races []string
	// SelfCheck says that one execution of so many is run again, to compare; 0: none.
	SelfCheck int
	// Workers is how many executions run at the same time, up to MaxWorkers; 0: as many as are of
	// use.
	Workers int
	// World is what the program finds. Its hosts are those of the file, then the peers'.
	World sut.Environment
	// Date is when the clocks of the program and of peers start that do not have the machine's, in
	// whole seconds. Zero: none is given, and DefaultDate is taken.
	Date time.Time `json:",omitzero"`
	// SaveInterval is how often what is needed to go on with a check is saved; 0: only
	// when it is interrupted.
	SaveInterval time.Duration
	// PeerPatience is how long timers of peers that have the machine's clock are waited for, up
	// to MaxPeerPatience. One that is due later counts as not set.
	PeerPatience time.Duration
	// PreemptIn are packages besides the main module where goroutines may be preempted: PATH or
	// PATH/...
	PreemptIn []string
}

// Others are programs that are no peers.
type Others struct {
	// Absent is where nobody is on purpose, at most maxAbsent.
	Absent []Absent `json:",omitempty"`
	// Nodes are programs that are checked together, instead of one program; at most MaxNodes.
	Nodes []Node `json:",omitempty"`
	// Agree are names of what nodes publish (tandem.Publish), or patterns of such names: all that
	// publish one have the same value. At most maxPublished.
	Agree []string `json:",omitempty"`
	// Exclusive are likewise names that one node holds at a time.
	Exclusive []string `json:",omitempty"`
	// Partitions are those of the network between nodes, one at a time; none: it is never parted.
	// Each is the name of a node that is parted from all others, or of two with a colon in between,
	// or anyNode. There are PartitionLimit in an execution at most; 0: one.
	Partitions     []string `json:",omitempty"`
	PartitionLimit int      `json:",omitempty"`
	// Crashes are the names of nodes that may crash and run again, or anyNode, each CrashLimit
	// times.
	Crashes    []string `json:",omitempty"`
	CrashLimit int      `json:",omitempty"`
	// Pauses are likewise the names of nodes that may be paused, each PauseLimit times.
	Pauses     []string `json:",omitempty"`
	PauseLimit int      `json:",omitempty"`
	// Slow is how often a connection between nodes is slow, at most.
	Slow int `json:",omitempty"`
}

// anyNode is, in Others.Partitions, each node parted from all others, and in Others.Crashes and
// Others.Pauses every node.
const anyNode = "*"

// maxPublished bounds how many patterns a property has of names that nodes publish.
const maxPublished = 100

// Node is one of several programs that are checked together.
type Node struct {
	Name    string
	Package string // as the go command takes it, in the directory of the file
	Args    []string
	// Listen is where others reach it: 10.0.0.1:7000. There may be several, with blanks in between.
	// One without a port is an address of the node, and no more. Empty: nobody connects to it.
	Listen string
	// Group is the name of the nodes with which it is one component; empty: it is one by itself.
	Group string
}

// MaxNodes bounds how many programs are checked together.
const MaxNodes = 16

// Room is how much memory may be used for the peers, and for a search.
type Room struct {
	// SearchMib is for the search of several programs, MinSearchMiB to MaxMemoryMiB.
	SearchMib int `mapstructure:"search_mib"`
	// CheckpointMib is for checkpoints of the peers and their files, MinCheckpointMiB to
	// MaxMemoryMiB.
	CheckpointMib int `mapstructure:"checkpoint_mib"`
	// CacheMib is how much the I/O cache may take before it puts answers into a file, 1 to
	// MaxMemoryMiB.
	CacheMib int `mapstructure:"cache_mib"`
}

// Mask is a rule for a field that may differ between two answers of a peer to the same request,
// such as a date. What the pattern matches is taken for equal, wherever it is.
type Mask struct {
	Peer    string // name of a peer that listens; empty: all peers
	Pattern string // regular expression, in the syntax of package regexp
}

// maxMasks bounds how many rules there are.
const maxMasks = 100

// Bounds end a search, whose verdict is then unknown, or leave executions out, and the verdict says
// so. The first three end a search; the last two leave executions out.
type Bounds struct {
	// Executions is how many there are at most, 1 to MaxExecutions, which is as good as
	// none.
	Executions int
	// Depth is how many transitions there are in one execution at most, 1 to MaxDepth.
	Depth int
	// Time is how long the whole search may take, up to MaxTime.
	Time time.Duration
	// Preemptions and Delays are how many there are in one execution at most, 0 to MaxDepth; nil:
	// any number. A delay is a turn that a goroutine is made to miss.
	Preemptions *int
	Delays      *int

	// ExecutionsAsked says that Executions was asked for, and is not the default.
	ExecutionsAsked bool `json:"-" mapstructure:"-"`
	// EarlyTimersAsked says that Config.World.EarlyTimers was asked for, be it zero.
	EarlyTimersAsked bool `json:"-" mapstructure:"-"`
}

// SetEarlyTimers says how many timers may fire early in an execution. Then no search has a number
// of its own.
func (c *Config) SetEarlyTimers(n int) { c.World.EarlyTimers, c.Bounds.EarlyTimersAsked = n, true }

// SetExecutions bounds the number of executions.
func (b *Bounds) SetExecutions(n int) { b.Executions, b.ExecutionsAsked = n, true }

// SetTime bounds the time. A time that is asked for is to be used: the default number of executions
// does not end the search before it.
func (b *Bounds) SetTime(most time.Duration) {
	if b.Time = most; !b.ExecutionsAsked {
		b.Executions = MaxExecutions
	}
}

// The greatest bounds, and the greatest size of a file. A number beyond these is taken for a typing
// error. They are the same for keys of a file and for flags.
const (
	MaxExecutions = 1_000_000_000
	// A depth is also what preemptions and delays can be at most.
	MaxDepth = 1_000_000
	MaxTime  = 30 * 24 * time.Hour
	// How long peers may be waited for, and how many executions may run at once.
	MaxPeerPatience = 10 * time.Minute
	MaxWorkers      = 256
	MaxReadyTimeout = 10 * time.Minute
	// A configuration is written by hand. Files that it names have their own bound.
	MaxFileSize = 1 << 20 // bytes of YAML
)

// Bounds of what the program finds in an execution. More than these would not be explored in any
// reasonable time, or has no room.
const (
	// MaxDiskMiB bounds the files that an execution may write.
	MaxDiskMiB = 4 << 10
	// MaxMemoryMiB bounds the heap of an execution, and what the checker itself may keep in memory.
	MaxMemoryMiB = 64 << 10
	// MinSearchMiB is what a search of several programs takes in any case.
	MinSearchMiB = 64
	// MinCheckpointMiB has room for one checkpoint of a small server.
	MinCheckpointMiB = 16
	// MaxSignalLimit bounds how often signals arrive.
	MaxSignalLimit = 16
	// MaxShort bounds how many reads, and how many writes, transfer less than they could.
	MaxShort = 1000
	// MaxFaults bounds how often the network fails.
	MaxFaults = 100
	// MaxEarlyTimers bounds how often timers of the program fire while goroutines can go on.
	MaxEarlyTimers = 1000
	// MaxPeerTimers bounds how often time passes for the peers.
	MaxPeerTimers = 100
)

// Quiescences are the ways to tell that the peers are quiescent, the default first. With auto it is
// ebpf where the kernel has what that needs.
var Quiescences = []string{"auto", "procfs", "ebpf"}

// Backends are what can take checkpoints of the peers, the default first. With auto it is memory as
// long as the peers can be saved there.
var Backends = []string{"auto", "criu", "memory"}

// Scopes are those of the I/O cache, the default first. With auto it is connection, and samples
// audit that.
var Scopes = []string{"group", "connection", "auto"}

// Strategies are the names of the checkpoint strategies, in the order of how often they take one.
func Strategies() []string { return strategy.Names() }

// FaultKinds are the kinds of faults of the network.
func FaultKinds() []string { return sut.FaultKinds }

// DefaultFaultKinds are those that are meant where none is named: all but silent, after which a
// program without deadlines waits for ever.
func DefaultFaultKinds() []string { return sut.DefaultFaultKinds }

// NodesExecutions is how many executions of single nodes there are at most, if nothing is said.
// Each is a part of one of the whole system, and takes about a millisecond.
const NodesExecutions = 100_000

// Default returns what holds without a file, and for the keys that a file leaves
// out: no peers, strategy after-io, at most 10000 executions of at most 10000
// transitions, and ten minutes; an empty standard input and no signals. With nodes, Executions is
// NodesExecutions.
func Default() Config {
	return Config{
		Strategy: "after-io", Backend: Backends[0], Quiescence: Quiescences[0], Scope: Scopes[0],
		Room:  Room{SearchMib: 4096, CheckpointMib: 1024, CacheMib: 1024},
		Races: []string{sut.RacesDirect}, SelfCheck: 1000,
		SaveInterval: 10 * time.Second,
		PeerPatience: watch.DefaultPatience,
		World: sut.Environment{Machine: sut.Machine{Hostname: sut.DefaultHostname}, Disk: sut.DefaultDisk,
			Memory: sut.DefaultMemory, SignalLimit: 1},
		Bounds: Bounds{Executions: 10_000, Depth: 10_000, Time: 10 * time.Minute},
	}
}

// Load reads a file. Paths after "from" are relative to its directory. What is wrong with the file
// is an *Error. Nothing else is read but the files and directories that it names, each within a
// bound. A file that cannot be read at all is an error of another kind.
func Load(file string) (Config, error) {
	data, err := readFile(file, MaxFileSize)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	// The working directory does not matter: the same file means the same from everywhere.
	path := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(file), name)
	}
	return parse(file, data, beside{
		read: func(name string) ([]byte, error) { return readFile(path(name), peers.MaxContent) },
		tree: func(name string) fs.FS {
			if info, err := os.Stat(path(name)); err != nil || !info.IsDir() {
				return nil
			}
			return os.DirFS(path(name))
		},
		image: func(source string) (image.Description, error) {
			// Such a name looks like a path, too.
			if isOfEngine(source) {
				return image.Describe(context.Background(), source)
			}
			// The source is told to others, who may have another working directory.
			file, err := filepath.Abs(path(source))
			if err != nil {
				return image.Description{}, err
			}
			return image.Describe(context.Background(), file)
		},
	})
}

// Files are the names of a configuration in the directory of a package. At most one is there.
var Files = []string{"tandem.yaml", "tandem.yml"}

// LoadFrom reads the configuration in a directory: see FileIn. Where there is none, Default holds.
func LoadFrom(dir string) (Config, error) {
	file, err := FileIn(dir)
	if err != nil || file == "" {
		return Default(), err
	}
	return Load(file)
}

// FileIn is the configuration in a directory: see Files. The name is empty where there is none,
// also if the directory is none. A file that is there and cannot be looked at is an error, and so
// are two of them.
func FileIn(dir string) (found string, err error) {
	for _, name := range Files {
		file := filepath.Join(dir, name)
		switch _, err := os.Stat(file); {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return "", err
		case found != "":
			return "", fmt.Errorf("%s and %s are both there: remove one of them", found, file)
		}
		found = file
	}
	return found, nil
}

// Validate checks the values that the command line may have changed since Load. The error is an
// *Error without the name of a file.
func (c Config) Validate() error {
	var wrong Error
	wrong.Problems = c.problems()
	return wrong.orNil()
}

// Listens is where a peer listens; none if there is no such peer, or if it is a client.
func (c Config) Listens(peer string) []proxy.Address {
	if c.Group == nil {
		return nil
	}
	i := slices.IndexFunc(c.Group.Peers, func(p peers.Peer) bool { return p.Name == peer })
	if i < 0 {
		return nil
	}
	addresses, _ := c.Group.Peers[i].Addresses() // they were validated
	return addresses
}

// ParseRaces reads a value for Config.Races: off, or a list with commas in between. The value "off"
// in a list with others is an error, since it is not clear what is meant.
func ParseRaces(list string) ([]string, error) {
	if list == "off" {
		return nil, nil
	}
	patterns := strings.Split(list, ",")
	for i, pattern := range patterns {
		if patterns[i] = strings.TrimSpace(pattern); !validPackage(patterns[i]) || patterns[i] == "off" {
			return nil, fmt.Errorf("%.64q is not allowed: give direct (the main module and its direct "+
				"dependencies), main, all, off, or import paths with commas in between, "+
				"each as in an import declaration or with /... at its end for all packages below", list)
		}
	}
	return patterns, nil
}

// ParseSelfCheck reads a value for Config.SelfCheck: "all" is 1 and "off" is 0.
func ParseSelfCheck(which string) (int, error) {
	switch which {
	case "all":
		return 1, nil
	case "off":
		return 0, nil
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > MaxExecutions {
		return 0, fmt.Errorf("%.64q is not allowed: give all, off, or a number from 1 to %d, to check one "+
			"execution of as many", which, MaxExecutions)
	}
	return n, nil
}

// validPackage reports whether a pattern is an import path, or one with /... at its end. Relative
// paths are none: the program may be built elsewhere.
func validPackage(pattern string) bool {
	path := strings.TrimSuffix(pattern, "/...")
	return path != "" && fs.ValidPath(path) && path != "." &&
		!strings.ContainsAny(path, " \t\r\n\x00\"'`\\*") &&
		!strings.Contains(path, "...")
}

// readFile reads a regular file of bounded size. A pipe or a device could block, or never end. An
// error names the file and is one line.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file: check the name", name)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: name one", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more shows that there are more.
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than the %d bytes that are allowed: shorten it", name, limit)
	}
	return data, nil
}

// NodesRefuse is the error of a configuration that has more than several programs can have yet. To
// ignore a part of it would give a verdict about something else.
func NodesRefuse(c Config) error {
	for _, part := range []struct {
		key   string
		given bool
	}{
		{"args", len(c.Args) > 0},
		{"early_timers", c.World.EarlyTimers > 0}, {"peer_timers", c.World.PeerTimers > 0},
		{"bounds.preemptions", c.Bounds.Preemptions != nil},
		{"scope " + c.Scope, c.Group != nil && c.Scope != Scopes[0]},
	} {
		if part.given {
			return fmt.Errorf("%s cannot be used together with nodes: leave one of them out", part.key)
		}
	}
	return besideRefused(c.Group)
}
