package doctor

import (
	"strings"

	"github.com/tandem-mc/tandem/peers"
)

// Profile is a profile of a peer, and whether its program is installed on this machine.
type Profile struct {
	Name  string
	Port  int
	Title string // what it is, in a few words
	State string // "installed", or what is missing and how to get it
}

// Profiles lists all profiles in the order of their names.
func Profiles() (list []Profile) {
	for _, p := range peers.Profiles() {
		f := programOf(p, exists)
		list = append(list, Profile{Name: p.Name, Port: p.Port, Title: p.Title, State: stateOf(f)})
	}
	return list
}

// ProfileState says in a sentence whether the program of a profile is installed. It begins with a
// capital letter and ends with a full stop. An unknown name is an error that lists all.
func ProfileState(name string) (string, error) {
	p, err := peers.FindProfile(name)
	if err != nil {
		return "", err
	}
	f := programOf(p, exists)
	text := strings.ToUpper(f.Detail[:1]) + f.Detail[1:]
	if f.Fix != "" {
		text += ": " + f.Fix
	}
	return text + ".", nil
}

// stateOf is a finding in one line. It ends a line of a table, so it has no full stop.
func stateOf(f Finding) string {
	if f.Fix == "" {
		return f.Detail
	}
	return f.Detail + "; " + f.Fix
}

// programOf says whether the program of a profile is there. It is asked whether a file is there, so
// that a test need not have the programs.
func programOf(p peers.Profile, there func(path string) bool) Finding {
	f := Finding{Name: p.Name, OK: true, Detail: "installed"}
	switch {
	case p.Program == "":
		f.Detail = "runs a program of yours"
	// It is installed, as the finding says already.
	case there(p.Program):
	case p.Package != "":
		f.OK, f.Detail, f.Installable = false, "no "+p.Program, true
		f.Fix = "`tandem doctor --fix " + p.Name + "` installs Debian's package " + p.Package
	default:
		f.OK, f.Detail, f.Fix = false, "no "+p.Program, p.Advice
	}
	return f
}
