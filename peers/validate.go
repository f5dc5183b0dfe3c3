package peers

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/proxy"
)

// Validate reports everything that is wrong with the description. Each error begins with its key,
// such as peers[0] or binds["/root"], so that readers of a file can be told the line. It is nil if
// nothing is wrong.
func (g Group) Validate() error {
	var wrong []error
	report := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	if n := len(g.Peers); n == 0 || n > proxy.MaxPeers {
		report("peers: there are %d, allowed are 1 to %d", n, proxy.MaxPeers)
	}
	// Names tell peers apart in messages and files.
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
		report("peers: their choices, and the orders of clients, together make %d behaviours, allowed are %d",
			n, MaxChoices)
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
	if n := len(g.Binds); n > MaxBinds {
		report("binds: there are %d, allowed are %d", n, MaxBinds)
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

// validateFiles checks the files: each by itself, and how many and how large they are together.
func (g Group) validateFiles() []error {
	var wrong []error
	if n := len(g.Files); n > MaxFiles {
		wrong = append(wrong, fmt.Errorf("files: there are %d, allowed are %d: leave some out", n, MaxFiles))
	}
	total := 0
	for i, f := range g.Files {
		total += len(f.Content)
		if _, err := f.Below(Scratch); err != nil {
			wrong = append(wrong, fmt.Errorf("files[%d]: %w", i, err))
		}
		if f.IsDirectory() && len(f.Content) > 0 {
			wrong = append(wrong,
				fmt.Errorf("files[%d]: the path %q is that of a directory: leave its content out", i, f.Path))
		}
		if f.Mode&^fs.ModePerm != 0 {
			wrong = append(wrong, fmt.Errorf("files[%d]: mode %v is more than permission bits: give "+
				"those only", i, f.Mode))
		}
	}
	if total > MaxContent {
		wrong = append(wrong, fmt.Errorf("files: they hold %d bytes, allowed are %d: leave some "+
			"out", total, MaxContent))
	}
	return wrong
}

// validateBind checks one entry of Group.Binds. Whether the source is there is known only when the
// group is made.
func validateBind(target, source string) error {
	if err := ValidateTarget(target); err != nil {
		return err
	}
	below, inScratch := strings.CutPrefix(source, Scratch)
	if inScratch && (below == "" || (below[0] == '/' && path.Clean(below) == below)) {
		return nil
	}
	if inScratch || !path.IsAbs(source) || path.Clean(source) != source {
		return fmt.Errorf("the source %q is neither absolute nor %s/..., or not in its shortest form: "+
			"write it so",
			source, Scratch)
	}
	return nil
}

// validate checks all of the description that does not depend on other peers, up to the first thing
// that is wrong. The user and the group are looked up on this machine.
func (p Peer) validate() error {
	switch {
	case p.Name == "":
		return errors.New("it has no name: give it one")
	case len(p.Command) == 0 || p.Command[0] == "":
		return fmt.Errorf("peer %s has no command: give it one", p.Name)
	}
	for _, s := range slices.Concat(p.Command, p.Env) {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return fmt.Errorf("peer %s: %q contains a zero byte or is not UTF-8: write it "+
				"otherwise", p.Name, s)
		}
	}
	for _, e := range p.Env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return fmt.Errorf("peer %s: the environment entry %q is not NAME=value: write it so", p.Name, e)
		}
	}
	if err := p.validateDirectory(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	if p.Choices < 0 || p.Choices > MaxChoices || p.Behaviour < 0 || p.Behaviour > max(p.Choices-1, 0) {
		return fmt.Errorf("peer %s: behaviour %d of %d: give 0 (it is as the machine makes it) to %d",
			p.Name, p.Behaviour, p.Choices, MaxChoices)
	}
	if err := p.validateClient(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	// The lists of an image are read when it is extracted.
	if _, err := p.Identity(); err != nil && p.Image.Digest == "" {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	if _, err := p.Addresses(); err != nil {
		return fmt.Errorf("peer %s: %w", p.Name, err)
	}
	return nil
}

// validateDirectory checks where the peer runs.
func (p Peer) validateDirectory() error {
	below, inScratch := strings.CutPrefix(p.Directory, Scratch)
	whole := p.Directory
	if inScratch {
		whole = cmp.Or(below, "/")
	}
	isShortest := path.IsAbs(whole) && path.Clean(whole) == whole
	if p.Directory == "" || isShortest && !strings.ContainsRune(whole, 0) && utf8.ValidString(whole) {
		return nil
	}
	return fmt.Errorf("the directory %q to run in is neither absolute nor %s/..., "+
		"or not in its shortest form: write it so", p.Directory, Scratch)
}

// validateClient checks what only clients have.
func (p Peer) validateClient() error {
	if !p.IsClient() {
		if p.Expect != "" {
			return errors.New("only a client is expected to end: " +
				"say with `after` when it is started, such as listen 8080")
		}
		return nil
	}
	if _, err := parseAfter(p.After); err != nil {
		return err
	}
	if _, err := numberAfter(p.Expect, "exit", 255); p.Expect != "" && err != nil {
		return fmt.Errorf("expect %.64q is not exit and a status: write it as exit 0", p.Expect)
	}
	if p.Listen != "" {
		return fmt.Errorf("it listens at %s, and is to be started after %s: give one of the two",
			p.Listen, p.After)
	}
	return nil
}
