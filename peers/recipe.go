package peers

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// profileFiles holds a file NAME.profile for each profile, and what several of them put into
// their groups. The keys and the password are public by intention, and open nothing but these
// peers. A host key is there in the formats of OpenSSH and of Dropbear. The certificate is for
// 127.0.0.1, localhost and the names below test; it is valid from 2000 to 2100.
//
//go:embed profiles
var profileFiles embed.FS

// recipe is how the group of a profile is built. Its texts contain ownDirectory and ownPort.
type recipe struct {
	group       Group    // with one peer
	sources     []string // of each file of the group: where its content comes from, see section
	withProgram []string // the command where a program is given; nil: the same one
	arguments   []string // of a client, where neither arguments nor a program are given
	told        []string // files beside the profile that people are told, such as keys
}

// What texts of a profile contain instead of parameters. Scratch and SUT stay there: see Group.In.
const (
	ownDirectory = "{own}"  // a directory below Scratch that is called like the peer
	ownPort      = "{port}" // where the peer listens, or a client expects the program
)

// givenProgram is the source of a file whose content is Parameters.Program.
const givenProgram = "{program}"

// parseProfile reads the file of a profile. It begins with fields, of which Profile.set has the
// list: a name, a colon and a value, which goes on in the next line if that is indented. Lines
// that begin with # are comments. The files of the group follow, each behind a line
// "-- PATH --", "-- PATH MODE --" or "-- PATH MODE = SOURCE --": see recipe.addFile. For example:
//
//	title: web server, one process
//	program: /usr/sbin/serverd
//	package: serverd
//	port: 8080
//	serves: the pages
//
//	# -f: in the foreground.
//	command: serverd -f --config {own}/serverd.conf
//	clock: virtual
//	-- serverd.conf --
//	listen 127.0.0.1:{port}
//	root {own}/www
//	-- www/ = page.html --
//
// An error names the profile, and the field or the file.
func parseProfile(name, text string) (Profile, error) {
	p := Profile{Name: name, recipe: recipe{group: Group{Peers: []Peer{{}}, Binds: map[string]string{}}}}
	head, sections := splitSections(text)
	fields, err := splitFields(head)
	if err != nil {
		return p, fmt.Errorf("profile %s: %w", name, err)
	}
	for _, f := range fields {
		if err := p.set(f.key, f.value); err != nil {
			return p, fmt.Errorf("profile %s: %s: %w", name, f.key, err)
		}
	}
	for _, s := range sections {
		if err := p.recipe.addFile(s.title, s.body); err != nil {
			return p, fmt.Errorf("profile %s: -- %s --: %w", name, s.title, err)
		}
	}
	return p, nil
}

// set notes one field. These are all that a profile may have; most can be left out.
func (p *Profile) set(key, value string) (err error) {
	r := &p.recipe
	peer, line := &r.group.Peers[0], strings.ReplaceAll(value, "\n", " ")
	switch key {
	// What people are told: see Profile.
	case "title":
		p.Title = line
	case "program":
		p.Program = line
	case "package":
		p.Package = line
	case "advice":
		p.Advice = line
	case "serves":
		p.Serves = line
	case "runs":
		p.Runs = line
	case "offers":
		p.Offers = line
	case "asks":
		p.Asks = line
	case "host keys": // public ones: a file beside the profile, as authorized_keys
		var lines []byte
		lines, err = r.tell(line)
		p.HostKeys = strings.Split(strings.TrimSpace(string(lines)), "\n")
	case "client key": // a private one: a file beside the profile
		var key []byte
		key, err = r.tell(line)
		p.ClientKey = string(key)
	case "port", "ports", "preferred":
		err = p.setPorts(key, line)

	// What is run. Lists of words are as splitWords reads them.
	case "command":
		peer.Command, err = splitWords(value)
	case "command with program":
		r.withProgram, err = splitWords(value)
	case "arguments": // of a client, by default
		r.arguments, err = splitWords(value)
	case "directory":
		peer.Directory = line
	case "environment":
		peer.Env, err = splitWords(value)
	case "user":
		peer.User = line
	case "behaviours": // how many there are to choose from: see Peer.Choices
		peer.Choices, err = strconv.Atoi(line)
	case "clock": // virtual; without this field it is the machine's
		if peer.VirtualClock = line == "virtual"; !peer.VirtualClock {
			err = fmt.Errorf("%q is not virtual", line)
		}
	case "ready timeout":
		r.group.ReadyTimeout, err = time.ParseDuration(line)

	// What it finds there, beside the files: see Group.Binds and Preparation.
	case "bind": // a target and a source; there may be several
		target, source, ok := strings.Cut(line, " ")
		if r.group.Binds[target] = source; !ok {
			err = errors.New("there is no source")
		}
	case "prepare":
		r.group.Prepare = append(r.group.Prepare, Preparation{Path: line})
	case "prepare with", "prepare from":
		err = r.setPreparation(key, value)
	default:
		err = errors.New("there is no such field")
	}
	return err
}

// tell reads a file beside the profile that people are told.
func (r *recipe) tell(name string) ([]byte, error) {
	r.told = append(r.told, name)
	return profileFiles.ReadFile("profiles/" + name)
}

// setPorts notes a field that says at which ports such servers are found, by default and elsewhere,
// or whether the profile is the one to suggest there.
func (p *Profile) setPorts(key, line string) (err error) {
	switch key {
	case "port":
		p.Port, err = strconv.Atoi(line)
	case "ports":
		for word := range strings.FieldsSeq(line) {
			port, wrong := strconv.Atoi(word)
			p.Ports, err = append(p.Ports, port), errors.Join(err, wrong)
		}
	case "preferred":
		if p.Preferred = line == "yes"; !p.Preferred {
			err = fmt.Errorf("%q is not yes", line)
		}
	}
	return err
}

// setPreparation notes how the directory is made that was named last.
func (r *recipe) setPreparation(key, value string) (err error) {
	if len(r.group.Prepare) == 0 {
		return errors.New("there is no field prepare above it")
	}
	last := &r.group.Prepare[len(r.group.Prepare)-1]
	if key == "prepare with" {
		last.Command, err = splitWords(value)
	} else {
		last.Programs, err = splitWords(value)
	}
	return err
}

// addFile adds a file to the group. The title holds its path, relative to the peer's own directory
// unless it begins with Scratch, and if wanted its mode, and after an equals sign the source of its
// content: a file beside the profile, or givenProgram. A path that ends in a slash stands for what
// the profile serves: the content is that of one page, unless a directory is given.
func (r *recipe) addFile(title, body string) error {
	words, source, _ := strings.Cut(title, " = ")
	path, mode, hasMode := strings.Cut(words, " ")
	f := File{Path: path, Mode: 0o644}
	if !strings.HasPrefix(path, Scratch) {
		f.Path = ownDirectory + "/" + path
	}
	if hasMode {
		bits, err := strconv.ParseUint(mode, 8, 32)
		if err != nil || fs.FileMode(bits)&^fs.ModePerm != 0 {
			return fmt.Errorf("%q is no mode, such as 0600", mode)
		}
		f.Mode = fs.FileMode(bits)
	}
	switch {
	case source != "" && body != "":
		return errors.New("there are a source and a content")
	case source != "" && source != givenProgram:
		content, err := profileFiles.ReadFile("profiles/" + source)
		if err != nil {
			return err
		}
		f.Content = content
	case body != "":
		f.Content = []byte(body)
	}
	r.group.Files, r.sources = append(r.group.Files, f), append(r.sources, source)
	return nil
}

// build makes the group of a peer whose own directory, port and program these are, and the
// arguments of its command where none are given. The recipe itself is not changed. A file whose
// content is the program is left out where there is none.
func (r recipe) build(own, port string, program []byte) (g Group, arguments []string) {
	// Both are replaced in one pass, so that a name with braces in it stays.
	replacer := strings.NewReplacer(ownDirectory, own, ownPort, port)
	replaceAll := func(words []string) (replaced []string) {
		for _, w := range words {
			replaced = append(replaced, replacer.Replace(w))
		}
		return replaced
	}
	peer := r.group.Peers[0]
	if program != nil && r.withProgram != nil {
		peer.Command = r.withProgram
	}
	peer.Command, peer.Env = replaceAll(peer.Command), replaceAll(peer.Env)
	peer.Directory = replacer.Replace(peer.Directory)
	g = Group{Peers: []Peer{peer}, Binds: map[string]string{}, ReadyTimeout: r.group.ReadyTimeout}
	for target, source := range r.group.Binds {
		g.Binds[target] = replacer.Replace(source)
	}
	for _, p := range r.group.Prepare {
		p.Path, p.Command = replacer.Replace(p.Path), replaceAll(p.Command)
		g.Prepare = append(g.Prepare, p)
	}
	for i, f := range r.group.Files {
		f.Path = replacer.Replace(f.Path)
		switch r.sources[i] {
		case givenProgram:
			if f.Content = program; program == nil {
				continue
			}
		case "":
			if f.Content != nil {
				f.Content = []byte(replacer.Replace(string(f.Content)))
			}
		}
		g.Files = append(g.Files, f)
	}
	if program == nil {
		arguments = replaceAll(r.arguments)
	}
	return g, arguments
}

// section is a part of a profile behind a line "-- TITLE --".
type section struct{ title, body string }

// splitSections cuts a text before each line "-- TITLE --". What is before the first one is the
// head.
func splitSections(text string) (head string, all []section) {
	for line := range strings.Lines(text) {
		title, isTitle := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		title, ends := strings.CutSuffix(title, " --")
		switch {
		case isTitle && ends:
			all = append(all, section{title: title})
		case len(all) == 0:
			head += line
		default:
			all[len(all)-1].body += line
		}
	}
	return head, all
}

// field is a field of a profile. Its value has a line break where it goes on in another line.
type field struct{ key, value string }

// splitFields reads the head of a profile. Only binds and preparations may be there more than once.
// A line that begins with a blank goes on with the field above it.
func splitFields(head string) (all []field, err error) {
	seen := map[string]bool{}
	for line := range strings.Lines(head) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || line[0] == '#':
			continue
		case strings.TrimLeft(line, " ") != line && len(all) == 0:
			return nil, fmt.Errorf("%q goes on with nothing", line)
		case strings.TrimLeft(line, " ") != line:
			all[len(all)-1].value += "\n" + text
			continue
		}
		key, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%q is no field", line)
		}
		if seen[key] && key != "bind" && !strings.HasPrefix(key, "prepare") {
			return nil, fmt.Errorf("there are two fields %s", key)
		}
		seen[key] = true
		all = append(all, field{key, strings.TrimSpace(value)})
	}
	return all, nil
}

// splitWords splits a text at blanks and line breaks. A word that begins with ' or ` goes on until
// the next one of these, blanks and line breaks included. There is no escape: a word that needs one
// of the two marks is put between the others.
func splitWords(text string) (words []string, err error) {
	const blanks = " \t\n"
	for text = strings.TrimLeft(text, blanks); text != ""; text = strings.TrimLeft(text, blanks) {
		if quote := text[:1]; quote == "'" || quote == "`" {
			word, rest, ends := strings.Cut(text[1:], quote)
			if !ends || rest != "" && !strings.Contains(blanks, rest[:1]) {
				return nil, fmt.Errorf("the quotation %.20q does not end, or not before a blank", text)
			}
			words, text = append(words, word), rest
			continue
		}
		end := strings.IndexAny(text, blanks)
		if end < 0 {
			end = len(text)
		}
		words, text = append(words, text[:end]), text[end:]
	}
	return words, nil
}
