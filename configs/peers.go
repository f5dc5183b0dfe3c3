package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
)

// group is the peer of an entry, with what its profile brings along. Key is that of the entry, such
// as peers[0]. Problems are reported below it.
func (e peerEntry) group(key string, b beside) (peers.Group, []Problem) {
	env, problems := environment(key+".env", e.Env)
	report := func(below string, err error) {
		problems = append(problems, Problem{Key: key + below, What: err.Error()})
	}
	g := peers.Group{Peers: []peers.Peer{{Name: e.Name}}}
	if e.Profile == "" {
		for _, parameter := range []struct {
			key   string
			given bool
		}{
			{".port", e.Port != nil}, {".directory", e.Directory != nil}, {".program", e.Program != nil},
			{".arguments", e.Arguments != nil && e.Image == ""},
		} {
			if parameter.given {
				report(parameter.key, errors.New("it is for a profile: name one under profile, or say it "+
					"in the command"))
			}
		}
	}
	// An entry is about one of three: an image, a profile, or a command of this machine.
	switch {
	case e.Image != "":
		p, below, err := e.fromImage(b)
		if err != nil {
			report(below, err)
			// The rest of the entry is judged as if it were right.
			p = peers.Peer{Name: e.Name, Command: []string{e.Name}}
		}
		g.Peers[0] = p
	case e.Profile != "":
		expanded, below, err := e.expand(b)
		if err != nil {
			report(below, err)
			expanded = peers.Group{Peers: []peers.Peer{{Name: e.Profile, Command: []string{e.Profile}}}}
		}
		g = expanded
	}
	return g, append(problems, e.apply(key, &g.Peers[0], env)...)
}

// apply puts what the entry says in the place of what its profile has. An empty value leaves what
// the profile has. So "any" is how the expected end of a client is taken back.
func (e peerEntry) apply(key string, p *peers.Peer, env []string) (wrong list) {
	if len(e.Command) > 0 {
		p.Command = e.Command
	}
	if e.Listen != "" {
		p.Listen = e.Listen
	}
	if e.WorkingDirectory != "" {
		p.Directory = e.WorkingDirectory
	}
	if e.User != "" {
		// The group of the profile is that of its own user.
		p.User, p.Group = e.User, ""
	}
	if e.Group != "" {
		p.Group = e.Group
	}
	p.Env = override(p.Env, env)
	if e.After != "" {
		p.After = e.After
	}
	switch e.Expect {
	case "":
	case "any":
		p.Expect = ""
	default:
		p.Expect = e.Expect
	}
	if e.Choices != nil {
		if err := within(*e.Choices, peers.MaxChoices); err != nil {
			wrong.add(key+".choices", "%v", err)
		} else {
			p.Choices = *e.Choices
		}
	}
	switch e.Clock {
	case "machine", "virtual":
		p.VirtualClock = e.Clock == "virtual"
	case "":
	default:
		wrong.add(key+".clock", "%.64q is not allowed: choose machine or virtual", e.Clock)
	}
	return wrong
}

// fromImage is the peer that the image describes; an error is about the given key of the entry.
func (e peerEntry) fromImage(b beside) (p peers.Peer, key string, err error) {
	switch {
	case e.Profile != "":
		return p, ".image", errors.New("a profile is run with the files of this machine: give one of " +
			"image and " +
			"profile")
	case len(e.Command) > 0 && len(e.Arguments) > 0:
		return p, ".arguments", errors.New("the command is used as it is, instead of that of the image: " +
			"add " +
			"them to it")
	}
	// Nothing is extracted before the peer is started.
	d, err := b.image(e.Image)
	if err != nil {
		return p, ".image", err
	}
	// What the entry says itself comes later, in the place of this.
	p = peers.OfImage(e.Name, d, e.Arguments)
	if len(p.Command) == 0 && len(e.Command) == 0 {
		return p, ".image", fmt.Errorf("%s says no command to run: give one under command", e.Image)
	}
	return p, "", nil
}

// isOfEngine tells whether an image is one of a local engine, and no file.
func isOfEngine(source string) bool { return strings.HasPrefix(source, image.Engine) }

// expand expands the profile; an error is about the given key of the entry.
func (e peerEntry) expand(b beside) (g peers.Group, key string, err error) {
	p, err := peers.FindProfile(e.Profile)
	if err != nil {
		return g, ".profile", err
	}
	if len(e.Command) > 0 && len(e.Arguments) > 0 {
		return g, ".arguments", errors.New("the command is used as it is, instead of that of the " +
			"profile: add them to it")
	}
	a := peers.Parameters{Name: e.Name, Port: e.impliedPort(), Arguments: e.Arguments}
	if e.Port != nil {
		if a.Port = *e.Port; a.Port == 0 {
			return g, ".port", errors.New("0 is not allowed: give one from 1 to 65535")
		}
	}
	if e.Directory != nil {
		if a.Directory = b.tree(*e.Directory); a.Directory == nil {
			return g, ".directory", fmt.Errorf("there is no directory %s: name an existing one",
				*e.Directory)
		}
	}
	if e.Program != nil {
		if a.Program, err = b.read(*e.Program); err != nil {
			return g, ".program", err
		}
	}
	g, err = p.Expand(a)
	return g, ".profile", err
}

// impliedPort is the port of which listen or after speaks; 0 if neither does, or not as it should.
// So a profile need not be told its port a second time.
func (e peerEntry) impliedPort() int {
	addresses, _ := peers.Peer{Listen: e.Listen}.Addresses()
	for _, at := range addresses {
		if at.At.IsValid() {
			return int(at.At.Port())
		}
	}
	port, _ := peers.Peer{After: e.After}.WaitsFor()
	return int(port)
}

// override returns the variables of a profile with those of an entry, which replace them. The order
// of variables matters to programs that print them, so it is kept.
func override(variables, by []string) []string {
	kept := slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(by, func(w string) bool { return strings.HasPrefix(w, name+"=") })
	})
	return append(kept, by...)
}
