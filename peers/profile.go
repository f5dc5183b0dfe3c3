package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Profile describes a server or client that many people have. It says what it takes to run it in a
// group, so that it stays in the foreground, as root, in one process where possible, keeps its
// files in the scratch directory, and becomes quiescent. Profiles are made by Profiles alone, and
// never change.
type Profile struct {
	Name    string
	Title   string // what it is, in a few words
	Program string // the file that has to be there; empty: it is given as Parameters.Program
	Package string // of Debian, which contains Program; empty: there is none
	Advice  string // how to get Program where Package is empty
	// Port is where it listens on 127.0.0.1, or for a client where the system under test does,
	// unless Parameters say otherwise.
	Port int
	// Ports are where such servers are found elsewhere, for instance by convention. They do not
	// contain Port. Preferred is the profile that is suggested first for these and its own port.
	Ports     []int
	Preferred bool

	// Serves says what Parameters.Directory holds; empty: it takes no directory.
	Serves string
	// Runs says what Parameters.Program is; empty: it takes none.
	Runs string
	// Offers says what a server has from the beginning, and how a client logs in. Empty: nothing
	// that needs words.
	Offers string
	// Asks says what the Parameters.Arguments of a client are; empty: it is a server.
	Asks string
	// HostKeys are the public keys of an SSH server, as lines of authorized_keys: a type, the key
	// and a comment. ClientKey is the private key of the user that it lets in, as PEM. All are in
	// the profile, and so the same on every machine and in every run.
	HostKeys  []string
	ClientKey string

	recipe recipe
}

// Parameters adapt a profile. The zero value stands for the profile as it is.
type Parameters struct {
	Name      string   // of the peer; empty: that of the profile
	Port      int      // 1 to 65535; 0: that of the profile
	Directory fs.FS    // copied to where the peer serves it; nil: one page, or nothing
	Program   []byte   // the content of an executable or of a script
	Arguments []string // of the command, after those of the profile
}

// Profiles lists all profiles, by name. Timeouts of theirs that can be set are so long that none
// ends while a group stands still: what a peer answers must not depend on how long the search was
// elsewhere.
//
// A profile is a file in the directory profiles: see parseProfile. To add one, write that file,
// and a row in the table of dialogues in the tests of ckptd, which restores the peer at each
// step.
func Profiles() []Profile { return slices.Clone(allProfiles()) }

var allProfiles = sync.OnceValue(func() []Profile {
	const suffix = ".profile"
	var all []Profile
	names, err := fs.Glob(profileFiles, "profiles/*"+suffix)
	for _, name := range names {
		var text []byte
		if text, err = profileFiles.ReadFile(name); err != nil {
			break
		}
		var p Profile
		if p, err = parseProfile(strings.TrimSuffix(path.Base(name), suffix), string(text)); err != nil {
			break
		}
		all = append(all, p)
	}
	if err != nil {
		panic(fmt.Sprintf("peers: a profile of Tandem's own: %v", err))
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// FindProfile returns the profile with a name. The error for an unknown one lists those that there
// are.
func FindProfile(name string) (Profile, error) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, p := range all {
			names[i] = p.Name
		}
		return Profile{}, fmt.Errorf("there is no profile %.64q: choose one of %s, or give a command",
			name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// AtPort lists the profiles that may be meant by a port of TCP: of servers, or of the clients of
// such servers. What is preferred comes first, and then the order is that of the names. Profiles
// of programs that the user has to give are none of them.
func AtPort(port int, clients bool) (list []Profile) {
	for _, p := range Profiles() {
		isClient := p.Asks != ""
		if isClient == clients && p.Program != "" && (p.Port == port || slices.Contains(p.Ports, port)) {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Profile) int {
		switch {
		case a.Preferred == b.Preferred:
			return 0
		case a.Preferred:
			return -1
		}
		return 1
	})
	return list
}

// Expand returns a group with this peer alone, and with the files and binds that it needs. The
// group is not validated, but is valid if the parameters are right. What is wrong with these is an
// error that names the profile.
func (p Profile) Expand(a Parameters) (Group, error) {
	if a.Name == "" {
		a.Name = p.Name
	}
	if a.Port == 0 {
		a.Port = p.Port
	}
	if err := p.accepts(a); err != nil {
		return Group{}, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	port := strconv.Itoa(a.Port)
	g, arguments := p.recipe.build(Scratch+"/"+a.Name, port, a.Program)
	peer := &g.Peers[0]
	peer.Name = a.Name
	if p.Asks == "" {
		peer.Listen = "127.0.0.1:" + port
	} else {
		peer.After, peer.Expect = "listen "+port, "exit 0"
	}
	if len(a.Arguments) > 0 {
		arguments = a.Arguments
	}
	peer.Command = append(peer.Command, arguments...)
	slices.Sort(peer.Env)
	if p.Serves != "" {
		files, err := served(g.Files, a.Directory)
		if err != nil {
			return Group{}, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		g.Files = files
	}
	return g, nil
}

// accepts tells whether the profile can do with the parameters. The error says what is wrong,
// without the name of the profile.
func (p Profile) accepts(a Parameters) error {
	switch {
	case a.Name == "." || a.Name == ".." || strings.Trim(a.Name, plainLetters) != "":
		return fmt.Errorf("the name %.64q of the peer is also that of its directory: "+
			"use letters, digits, dots, - and _", a.Name)
	case a.Port < 0 || a.Port > 65535:
		return fmt.Errorf("port %d is not allowed: give one from 1 to 65535", a.Port)
	case a.Directory != nil && p.Serves == "":
		return errors.New("it takes no directory: leave it out")
	case a.Program != nil && p.Runs == "":
		return errors.New("it takes no program: leave it out")
	case a.Program == nil && p.Runs != "" && p.Program == "":
		return fmt.Errorf("it needs a program: name %s", p.Runs)
	}
	return nil
}

// plainLetters are those of a name that is a part of a path, too.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// served replaces the file that stands for what the profile serves (its path ends in a slash) by
// the files of the directory, or keeps its content as that of one page. A directory without content
// and without files is left out. A file that the profile itself puts there, before that one, gives
// way to one of the directory.
func served(files []File, directory fs.FS) ([]File, error) {
	var all []File
	for _, f := range files {
		below, isDirectory := strings.CutSuffix(f.Path, "/")
		if !isDirectory {
			all = append(all, f)
			continue
		}
		switch {
		case directory != nil:
			copied, err := CopyOf(directory, below)
			if err != nil {
				return nil, err
			}
			given := map[string]bool{}
			for _, c := range copied {
				given[c.Path] = true
			}
			all = slices.DeleteFunc(all, func(f File) bool { return given[f.Path] })
			all = append(all, copied...)
		case f.Content != nil:
			f.Path = below + "/index.html"
			all = append(all, f)
		}
	}
	return all, nil
}
