// Package peers describes the real processes on the other side of the connections of the
// system under test, and watches them: are they ready, are they quiescent, did one die.
package peers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/proxy"
)

// SUT stands for the address of the system under test, as clients reach it, in the same places
// as Scratch.
const SUT = "{sut}"

const addressOfSUT = "127.0.0.1"

// Scratch stands for the scratch directory of the group wherever a path may occur:
// in commands, environments, files and binds.
const Scratch = "{scratch}"

// ScratchDirectory is where the scratch directory is, as the peers see it.
const ScratchDirectory = "/run/tandem"

// Group is what is checkpointed together: peers, their files and the network between
// them. Its file tree is that of the machine, read-only, with a scratch directory and
// an own /run, both part of every checkpoint.
type Group struct {
	Peers []Peer
	// Prepare is made, or copied from where it was made before, ahead of Files.
	Prepare []Preparation
	Files   []File
	// Binds puts the directory or file that is the value over the path that is the key,
	// inside the group only. A directory below Scratch is created where it is missing.
	Binds map[string]string
	// Start is when clocks of the peers start that are not the machine's; zero: DefaultStart.
	Start time.Time `json:",omitzero"`
	// ReadyTimeout bounds the time from the start until all peers are ready;
	// 0 means DefaultReadyTimeout.
	ReadyTimeout time.Duration
	// Prepared are directories of the machine, by the Path of the Preparation that has made them. Whoever starts
	// the group fills it in.
	Prepared map[string]string
	// AnyArrival makes the order in which clients connect a part of the group's behaviour, and
	// Arrival is the one that it starts with, from 0 on: see Arrivals.
	AnyArrival bool
	Arrival    int
}

// Peer is one process. It must stay in the foreground: its end is the peer's death, but for
// that of a client. It has nothing in its environment but Env
// and defaults for PATH, HOME, LANG and GODEBUG.
type Peer struct {
	Name    string
	Command []string
	// Directory is where it runs: below Scratch, where it is created if it is missing, or absolute. Empty: Scratch.
	Directory string
	Env       []string // "NAME=value"
	// User and Group are what it runs as, by name or number: see Peer.Identity. Empty: root, and all groups of the user.
	User, Group string
	// Listen is where it listens, for servers: addresses with blanks in between, such as "127.0.0.1:2222",
	// "[::1]:80", "udp:127.0.0.1:53", "unix:{scratch}/socket", "unix:@abstract". See Addresses.
	Listen string

	// After makes the peer a client of the system under test: "listen 8080" has it started
	// when that begins to listen on the port, for the first time; "listen udp:8080" when that has a
	// UDP socket there, and "listen unix:/path" a Unix socket of any kind. A client may end.
	After string
	// Expect says how a client has to end: "exit 0", or another status. Empty: in any way.
	Expect string

	// Choices is how many behaviours of the peer there are to choose from, and Behaviour
	// the one that it starts with, from 0 on. Its time and random numbers follow from that.
	// With 0 choices they are those of the machine.
	Choices   int
	Behaviour int

	// VirtualClock has time pass for the peer only as it reads the clock, sleeps, and as Watch.Pass says: its
	// clock starts at Group.ClockStart, and no time-out ends by itself. It must use the C library.
	VirtualClock bool
}

// Process is a peer that has been started.
type Process struct {
	Peer
	PID int // in the group's pid namespace: the same before and after a restore
	// Host is the pid as this process sees it, which a restore changes; 0 means that it is
	// to be looked for, among all children of the proxy.
	Host int
}

// File is put in place before the peers start. A relative path is below Scratch. Content that
// holds a zero byte is no text: Scratch is not replaced there.
type File struct {
	Path    string // one that ends with a slash is that of an empty directory
	Content []byte
	Mode    fs.FileMode // permission bits; 0 means 0644, and 0755 for a directory
}

// IsDirectory tells whether it is an empty directory.
func (f File) IsDirectory() bool { return strings.HasSuffix(f.Path, "/") }

// DefaultStart is when clocks start that are not the machine's, where nothing else is said: in
// seconds of Unix time, 2026-01-01 00:00:00 UTC.
const DefaultStart = 1_767_225_600

// ClockStart is when the clocks of those peers start that do not have the machine's: peers with
// choices, and peers with a virtual clock.
func (g Group) ClockStart() time.Time {
	if g.Start.IsZero() {
		return time.Unix(DefaultStart, 0).UTC()
	}
	return g.Start
}

// FilesChanged is when the files of all peers were changed last. Servers tell it, so it is the same on
// every day on which a check begins. It is never after ClockStart.
func (g Group) FilesChanged() time.Time {
	const year = 2025
	if start := g.ClockStart(); start.Year() < year {
		return start
	}
	return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// Limits of a group.
const (
	DefaultReadyTimeout = 10 * time.Second
	MaxFiles            = 4096
	MaxContent          = 64 << 20 // bytes in all files together
	MaxChoices          = 1 << 12  // behaviours of the peers, all combinations
)

// Validate reports everything that is wrong with the description.
func (g Group) Validate() error {
	var wrong []error
	report := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	if n := len(g.Peers); n == 0 || n > proxy.MaxPeers {
		report("peers: there are %d, allowed are 1 to %d", n, proxy.MaxPeers)
	}
	seen := map[string]bool{}
	for i, p := range g.Peers {
		if err := p.validate(); err != nil {
			report("peers[%d]: %w", i, err)
		}
		if seen[p.Name] {
			report("peers[%d]: the name %q is taken: give each peer its own", i, p.Name)
		}
		seen[p.Name] = true
	}
	if n := g.Behaviours(); n > MaxChoices {
		report("peers: their choices, and the orders of clients, together make %d behaviours, allowed are %d", n, MaxChoices)
	}
	if n := len(g.Prepare); n > MaxPreparations {
		report("prepare: there are %d, allowed are %d", n, MaxPreparations)
	}
	for i, p := range g.Prepare {
		if err := p.validate(); err != nil {
			report("prepare[%d]: %w", i, err)
		}
	}
	wrong = append(wrong, g.validateFiles()...)
	if n := len(g.Binds); n > proxy.MaxMounts/2 {
		report("binds: there are %d, allowed are %d", n, proxy.MaxMounts/2)
	}
	for _, target := range slices.Sorted(maps.Keys(g.Binds)) {
		if err := validateBind(target, g.Binds[target]); err != nil {
			report("binds[%q]: %w", target, err)
		}
	}
	if g.ReadyTimeout < 0 {
		report("ready timeout: %v is negative", g.ReadyTimeout)
	}
	return errors.Join(wrong...)
}

// Behaviours is the number of behaviours of the group that can be chosen: one of each peer, and
// with AnyArrival an order of the clients.
func (g Group) Behaviours() int {
	n := g.orders()
	for _, p := range g.Peers {
		if n *= max(p.Choices, 1); n > MaxChoices {
			return n // and more
		}
	}
	return n
}

// Chosen reports whether the behaviour of a peer, or its clock, is chosen.
func (g Group) Chosen() bool {
	return slices.ContainsFunc(g.Peers, Peer.isChosen)
}

// isChosen reports whether it is made for the peer what it reads, or a part of it.
func (p Peer) isChosen() bool { return p.Choices > 0 || p.VirtualClock }

// Behaving returns the group with behaviour n, from 0 on, chosen. Its first peer's
// changes fastest, and the order of clients slowest.
func (g Group) Behaving(n int) Group {
	g.Peers = slices.Clone(g.Peers)
	for i := range g.Peers {
		k := max(g.Peers[i].Choices, 1)
		g.Peers[i].Behaviour = n % k
		n /= k
	}
	g.Arrival = n
	return g
}

func (p Peer) validate() error {
	switch {
	case p.Name == "":
		return errors.New("it has no name")
	case len(p.Command) == 0 || p.Command[0] == "":
		return fmt.Errorf("peer %s has no command", p.Name)
	}
	for _, s := range slices.Concat(p.Command, p.Env) {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return fmt.Errorf("peer %s: %q contains a zero byte or is not UTF-8", p.Name, s)
		}
	}
	for _, e := range p.Env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return fmt.Errorf("peer %s: the environment entry %q is not NAME=value", p.Name, e)
		}
	}
	if err := p.validateDirectory(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	if p.Choices < 0 || p.Choices > MaxChoices || p.Behaviour < 0 || p.Behaviour > max(p.Choices-1, 0) {
		return fmt.Errorf("peer %s: behaviour %d of %d: there can be 0 (it is as the machine makes it) to %d", p.Name, p.Behaviour, p.Choices, MaxChoices)
	}
	if err := p.validateClient(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	if _, err := p.Identity(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	if _, err := p.Addresses(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	return nil
}

func (p Peer) validateDirectory() error {
	below, inScratch := strings.CutPrefix(p.Directory, Scratch)
	whole := p.Directory
	if inScratch {
		whole = cmp.Or(below, "/")
	}
	if p.Directory == "" || path.IsAbs(whole) && path.Clean(whole) == whole && !strings.ContainsRune(whole, 0) && utf8.ValidString(whole) {
		return nil
	}
	return fmt.Errorf("the directory %q to run in is neither absolute nor %s/..., or not in its shortest form", p.Directory, Scratch)
}

func (g Group) validateFiles() []error {
	var wrong []error
	if n := len(g.Files); n > MaxFiles {
		wrong = append(wrong, fmt.Errorf("files: there are %d, allowed are %d", n, MaxFiles))
	}
	total := 0
	for i, f := range g.Files {
		total += len(f.Content)
		if _, err := f.Below(Scratch); err != nil {
			wrong = append(wrong, fmt.Errorf("files[%d]: %w", i, err))
		}
		if f.IsDirectory() && len(f.Content) > 0 {
			wrong = append(wrong, fmt.Errorf("files[%d]: the path %q is that of a directory, and there is content", i, f.Path))
		}
		if f.Mode&^fs.ModePerm != 0 {
			wrong = append(wrong, fmt.Errorf("files[%d]: mode %v is more than permission bits", i, f.Mode))
		}
	}
	if total > MaxContent {
		wrong = append(wrong, fmt.Errorf("files: they hold %d bytes, allowed are %d", total, MaxContent))
	}
	return wrong
}

// Below returns the file's path relative to the scratch directory.
func (f File) Below(scratch string) (string, error) {
	p := f.Path
	if rest, ok := strings.CutPrefix(p, scratch+"/"); ok {
		p = rest
	}
	clean := path.Clean(p)
	if p == "" || path.IsAbs(p) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsRune(p, 0) || !utf8.ValidString(p) {
		return "", fmt.Errorf("path %q does not name a file below %s", f.Path, Scratch)
	}
	return clean, nil
}

// ValidateTarget checks that something may be bound over a path of the group: what a symbolic link leads to
// is to be checked like the link.
func ValidateTarget(target string) error {
	for _, reserved := range []string{"/proc", "/dev", "/run"} {
		if target == reserved || strings.HasPrefix(target, reserved+"/") {
			return fmt.Errorf("%s of a group is set up by tandem: bind another path", reserved)
		}
	}
	if !path.IsAbs(target) || path.Clean(target) != target || target == "/" {
		return errors.New("the path is not absolute, or not in its shortest form, or is /")
	}
	return nil
}

func validateBind(target, source string) error {
	if err := ValidateTarget(target); err != nil {
		return err
	}
	below, inScratch := strings.CutPrefix(source, Scratch)
	if inScratch && (below == "" || (below[0] == '/' && path.Clean(below) == below)) {
		return nil
	}
	if inScratch || !path.IsAbs(source) || path.Clean(source) != source {
		return fmt.Errorf("the source %q is neither absolute nor %s/..., or not in its shortest form", source, Scratch)
	}
	return nil
}

// In returns the group with Scratch replaced by a directory, and defaults filled in.
func (g Group) In(scratch string) Group {
	replacer := strings.NewReplacer(Scratch, scratch, SUT, addressOfSUT)
	replace := replacer.Replace
	out := Group{Binds: map[string]string{}, Start: g.Start, ReadyTimeout: g.ReadyTimeout}
	if out.ReadyTimeout == 0 {
		out.ReadyTimeout = DefaultReadyTimeout
	}
	for _, p := range g.Peers {
		q := p
		q.Command, q.Env = nil, slices.Clone(defaultEnvironment)
		q.Directory = replace(cmp.Or(p.Directory, Scratch))
		for _, s := range p.Command {
			q.Command = append(q.Command, replace(s))
		}
		if who, err := p.Identity(); err == nil && !who.IsRoot() {
			q.Env = setVariable(q.Env, "HOME="+who.Home)
		}
		for _, s := range p.Env {
			q.Env = setVariable(q.Env, replace(s))
		}
		out.Peers = append(out.Peers, q)
	}
	for _, f := range g.Files {
		if f.Mode == 0 {
			f.Mode = 0o644
			if f.IsDirectory() {
				f.Mode = 0o755
			}
		}
		content := f.Content
		if bytes.IndexByte(content, 0) < 0 { // a program that has the word in it would be damaged
			content = []byte(replace(string(content)))
		}
		out.Files = append(out.Files, File{Path: replace(f.Path), Content: content, Mode: f.Mode})
	}
	for target, source := range g.Binds {
		out.Binds[target] = replace(source)
	}
	out.Prepared = map[string]string{}
	for below, directory := range g.Prepared {
		out.Prepared[replace(below)] = directory
	}
	return out
}

// A fixed environment: what a peer answers must not depend on who runs the checker.
var defaultEnvironment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root",
	"LANG=C.UTF-8",
	"GODEBUG=multipathtcp=0", // Go programs listen for MPTCP, which CRIU cannot dump
}

// setVariable replaces a variable or adds it.
func setVariable(environment []string, entry string) []string {
	name := entry[:strings.IndexByte(entry, '=')+1]
	for i, e := range environment {
		if strings.HasPrefix(e, name) {
			environment[i] = entry
			return environment
		}
	}
	return append(environment, entry)
}
