package configs

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tandem-mc/tandem/peers"
)

// profileText is what a profile expands to, in the order in which people read it. The YAML library
// keeps the order of fields, and sorts the keys of maps.
type profileText struct {
	Peers   []peerText
	Prepare []prepareText     `yaml:",omitempty"`
	Files   []fileText        `yaml:",omitempty"`
	Binds   map[string]string `yaml:",omitempty"`

	ReadyTimeout string `yaml:"ready_timeout,omitempty"`
}

// peerText is an entry under peers, with its keys in the order in which they are printed.
type peerText struct {
	Name    string
	Command []string   `yaml:",flow"`
	Where   string     `yaml:"working_directory,omitempty"`
	User    string     `yaml:",omitempty"`
	Group   string     `yaml:",omitempty"`
	Env     *yaml.Node `yaml:",omitempty"`
	Listen  string     `yaml:",omitempty"`
	After   string     `yaml:",omitempty"`
	Expect  string     `yaml:",omitempty"`
	Choices int        `yaml:",omitempty"`
	Clock   string     `yaml:",omitempty"`
}

// prepareText is an entry under prepare.
type prepareText struct {
	Path     string
	Command  []string `yaml:",flow"`
	Programs []string `yaml:",flow"`
}

// fileText is an entry under files. It has one of content, base64 and from.
type fileText struct {
	Path    string
	Content *string `yaml:",omitempty"`
	Base64  string  `yaml:",omitempty"`
	From    string  `yaml:",omitempty"`
	Mode    string
}

// ProfileYAML is what a profile stands for, as a configuration without it. Where the profile needs
// a program, that is the file "program" beside the configuration. What is printed can be parsed
// again, and then is the same group of peers.
func ProfileYAML(p peers.Profile) ([]byte, error) {
	// A profile without a program of its own cannot be expanded without one.
	a := peers.Parameters{}
	if p.Program == "" {
		a.Program = []byte("the user's program")
	}
	g, err := p.Expand(a)
	if err != nil {
		return nil, err
	}
	// The keys are those of the schema; a test parses what is printed.
	text := profileText{Binds: g.Binds}
	if g.ReadyTimeout != 0 {
		text.ReadyTimeout = g.ReadyTimeout.String()
	}
	for _, prepared := range g.Prepare {
		text.Prepare = append(text.Prepare, prepareText(prepared))
	}
	for _, peer := range g.Peers {
		t := peerText{
			Name: peer.Name, Command: peer.Command, Where: peer.Directory, User: peer.User, Group: peer.Group,
			Env:    inOrder(peer.Env),
			Listen: peer.Listen, After: peer.After, Expect: peer.Expect, Choices: peer.Choices,
		}
		if peer.VirtualClock {
			t.Clock = "virtual"
		}
		text.Peers = append(text.Peers, t)
	}
	for _, f := range g.Files {
		t := fileText{Path: f.Path, Mode: fmt.Sprintf("%04o", f.Mode)}
		switch content := string(f.Content); {
		// It is told by its content, since a profile may put it anywhere.
		case a.Program != nil && bytes.Equal(f.Content, a.Program):
			t.From = "program"
		case utf8.Valid(f.Content):
			t.Content = &content
		default:
			t.Base64 = base64.StdEncoding.EncodeToString(f.Content)
		}
		text.Files = append(text.Files, t)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(text); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// inOrder is a mapping from the names of variables to their values, in the order in which they
// are given: that of a map would be another, and the order of variables is a part of what a peer
// sees. nil if there are none.
func inOrder(variables []string) *yaml.Node {
	if len(variables) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		for _, text := range []string{name, value} {
			scalar := &yaml.Node{}
			scalar.SetString(text)
			n.Content = append(n.Content, scalar)
		}
	}
	return n
}

// DescribeProfile is what a profile stands for, as a configuration without it, after comments that
// say what else an entry with the profile can have. State, a sentence, says whether its program is
// installed. An unknown name is an error that says what there is.
func DescribeProfile(name, state string) ([]byte, error) {
	p, err := peers.FindProfile(name)
	if err != nil {
		return nil, err
	}
	text, err := ProfileYAML(p)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s: %s. The same as\n#   peers:\n#     - profile: %s\n", p.Name, p.Title, p.Name)
	if p.Program == "" {
		out.WriteString("#       program: program\n")
	}
	// A client connects to the program, so its port is another one.
	port, arguments := "", "of the command, after those below"
	if p.Asks != "" {
		port, arguments = ", where your program listens", p.Asks+", in place of the last below"
	}
	out.WriteString("# which can have, too:\n#       name: NAME            # " + p.Name + "\n")
	fmt.Fprintf(&out, "#       port: NUMBER          # %d%s\n#       arguments: [TEXT...]  # %s\n", p.Port,
		port, arguments)
	if p.Serves != "" {
		fmt.Fprintf(&out, "#       directory: DIRECTORY  # %s\n", p.Serves)
	}
	if p.Runs != "" {
		fmt.Fprintf(&out, "#       program: FILE         # %s\n", p.Runs)
	}
	fmt.Fprintf(&out, "# and env, working_directory, choices, and all else that a peer can have. %s\n",
		state)
	if p.Offers != "" {
		fmt.Fprintf(&out, "# It has %s.\n", p.Offers)
	}
	if len(p.HostKeys) > 0 {
		describeKeys(&out, p)
	}
	out.Write(text)
	return out.Bytes(), nil
}

// describeKeys tells what a client of an SSH server needs, in comments: the host keys, to pin them,
// and a key that lets it in.
func describeKeys(out *bytes.Buffer, p peers.Profile) {
	out.WriteString("# It listens at 127.0.0.1, at the port. Its host keys are test keys that everybody " +
		"knows, the\n# same on every machine and in every run. For ssh.FixedHostKey, or known_hosts " +
		"(--known-hosts\n# prints them alone):\n")
	for line := range strings.Lines(knownHosts(p)) {
		out.WriteString("#   " + line)
	}
	out.WriteString("# The key of a client that it lets in (--client-key prints it alone):\n")
	for line := range strings.Lines(p.ClientKey) {
		out.WriteString("#   " + line)
	}
}

// KnownHosts is what known_hosts of a client has to have for a profile of an SSH server at its own
// port: a line for each host key.
func KnownHosts(name string) (string, error) {
	p, err := sshServer(name)
	return knownHosts(p), err
}

// ClientKey is the private key, as PEM, of the user whom the profile of an SSH server lets in.
func ClientKey(name string) (string, error) {
	p, err := sshServer(name)
	return p.ClientKey, err
}

// sshServer finds a profile that has keys.
func sshServer(name string) (peers.Profile, error) {
	p, err := peers.FindProfile(name)
	if err == nil && len(p.HostKeys) == 0 {
		err = fmt.Errorf("the profile %s has no keys: it is no SSH server; name one, such as dropbear", name)
	}
	return p, err
}

func knownHosts(p peers.Profile) string {
	var all strings.Builder
	for _, key := range p.HostKeys {
		fmt.Fprintf(&all, "[127.0.0.1]:%d %s\n", p.Port, key)
	}
	return all.String()
}
