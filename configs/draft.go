package configs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Draft is what a run of a program shows, for its first configuration.
type Draft struct {
	Package string   // as the user names it
	Args    []string // of the program
	// Dialled is where nobody was, each place once. Listened is where the program listens, without
	// names.
	Dialled, Listened []Wanted
}

// Wanted is somebody whom a program looks for: at an address, by a name, or both, where the name
// has led to the address. That one is of no interest then, but for its port.
type Wanted struct {
	Address proxy.Address
	Name    string
}

// String is the place as the configuration has it.
func (w Wanted) String() string {
	switch at := w.Address.At; {
	case at.IsValid() && at.Addr().IsUnspecified(): // as Go programs write it
		port := fmt.Sprintf(":%d", at.Port())
		if w.Address.Network != proxy.TCP {
			port = w.Address.Network.String() + ":" + port
		}
		return port
	case w.Name == "":
		return strings.Trim(inFile(w.Address), `"`)
	case w.Address.At.IsValid():
		return fmt.Sprintf("%s:%d", w.Name, w.Address.At.Port())
	}
	return w.Name
}

// anyCommand is for the user to fill in. The words in capitals stand for the user's own.
const anyCommand = "    command: [PROGRAM, ARGUMENTS]"

// local is the address where a peer can listen for it, since peers have loopback only. Those with a
// profile have one address of it. Remote says that the program has dialled another one.
func (w Wanted) local(profile bool) (listen proxy.Address, remote bool) {
	listen = w.Address
	if listen.Network.IsUnix() || !listen.At.IsValid() ||
		!profile && listen.At.Addr().IsLoopback() && w.Name == "" {
		return listen, false
	}
	listen.At = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), listen.At.Port())
	return listen, w.Name == "" && listen != w.Address
}

// Profiles are the profiles of servers that may be meant, the most likely one first.
func (w Wanted) Profiles() (list []peers.Profile) {
	if w.Address.At.IsValid() && w.Address.Network == proxy.TCP {
		list = peers.AtPort(int(w.Address.At.Port()), false)
	}
	// Names of machines are often those of what runs there, such as redis or postgres.example.com.
	label, _, _ := strings.Cut(w.Name, ".")
	if p, err := peers.FindProfile(label); err == nil && p.Asks == "" && p.Program != "" {
		named := func(q peers.Profile) bool { return q.Name == p.Name }
		list = append([]peers.Profile{p}, slices.DeleteFunc(list, named)...)
	}
	return list
}

// Entry is an entry under peers, as lines. Where a single profile has the port, it is that; else
// the user has to say what runs there. A comment names the profiles then, if there are some.
func (w Wanted) Entry() []string {
	list := w.Profiles()
	// The user may know that it is one of these. As a comment, the line still is one to complete,
	// and the names are there to copy.
	command := anyCommand
	for i, p := range list {
		if i == 0 {
			command += "  # or, instead of this, a profile: " + p.Name
		} else {
			command += ", " + p.Name
		}
	}
	if w.Name != "" { // only the user knows which server is meant
		return []string{"  - name: " + w.Name, command, "    listen: 127.0.0.1:PORT"}
	}
	listen, remote := w.local(len(list) == 1)
	comment := ""
	if remote {
		comment = "  # peers are on loopback: have the program dial that"
	}
	// Of several profiles none is taken, since each would be as good.
	if len(list) == 1 {
		port := ""
		if at := int(listen.At.Port()); at != list[0].Port {
			port = fmt.Sprintf(", port: %d", at)
		}
		return []string{"  - {profile: " + list[0].Name + port + "}" + comment}
	}
	entry := Wanted{Address: listen}.generic()
	entry[1] = command
	entry[2] += comment
	return entry
}

// generic is an entry for an address of loopback, without a profile. It has three lines, of which
// the last is where the peer listens.
func (w Wanted) generic() []string {
	listen := "127.0.0.1:PORT"
	if w.Address != (proxy.Address{}) {
		listen = inFile(w.Address)
	}
	return []string{"  - name: " + nameOf("peer", w.Address), anyCommand, "    listen: " + listen}
}

// absent is the entry of the key absent that means it. With a name, the port is of no interest:
// programs fail before they dial.
func (w Wanted) absent() string {
	if w.Name != "" {
		return w.Name
	}
	return inFile(w.Address)
}

// ClientEntry is an entry under peers of a client that connects to an address of the program, as
// lines. Only TCP gets a runnable command: curl says enough to most servers. For other networks the
// user names the program.
func ClientEntry(a proxy.Address) []string {
	name := "  - name: " + nameOf("client", a)
	if a.Network == proxy.TCP {
		return []string{name,
			fmt.Sprintf("    command: [curl, \"http://{sut}:%d/\"]  # or another client", a.At.Port()),
			"    after: " + waitsFor(a),
		}
	}
	return []string{name, anyCommand, "    after: " + waitsFor(a)}
}

// waitsFor is the value of after of a client that waits for an address. UDP clients need no address
// of their own to be waited for, so the port is enough.
func waitsFor(a proxy.Address) string {
	switch a.Network {
	case proxy.TCP:
		return fmt.Sprintf("listen %d", a.At.Port())
	case proxy.UDP:
		return fmt.Sprintf("listen udp:%d", a.At.Port())
	}
	return "listen " + strings.Trim(inFile(a), `"`)
}

// nameOf is the name of a peer by its address, so that entries for several tests do not clash: its
// port, its network if that is not TCP, and its IP address if that is not the usual one.
func nameOf(role string, a proxy.Address) string {
	text := role
	if a.Network != proxy.TCP {
		text += "-" + a.Network.String()
	}
	if a.Network.IsUnix() {
		return text + "-" + plain(a.Path)
	}
	if ip := a.At.Addr(); ip.IsValid() && !ip.IsUnspecified() && ip.String() != "127.0.0.1" {
		text += "-" + plain(ip.String())
	}
	return fmt.Sprintf("%s-%d", text, a.At.Port())
}

// plain has the letters and digits of a text, and a hyphen for what is between them.
func plain(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return strings.Join(words, "-")
}

// inFile is an address as the configuration has it. Paths in the scratch directory of a group
// differ in each run, so the placeholder takes their place. YAML would read brackets as a list, so
// such an address is quoted.
func inFile(a proxy.Address) string {
	text := a.At.String()
	if a.Network.IsUnix() {
		text = strings.TrimPrefix(a.String(), a.Network.String()+" ")
		if rest, ok := strings.CutPrefix(text, peers.ScratchDirectory); ok {
			text = peers.Scratch + rest
		}
	}
	if a.Network != proxy.TCP {
		text = a.Network.String() + ":" + text
	}
	if strings.ContainsAny(text, "[]{}") {
		return `"` + text + `"`
	}
	return text
}

// YAML is the first configuration, with comments for its reader. It is always one that can be
// loaded: what only the user knows is a comment. State says in a few words whether the program of a
// profile is installed; of several profiles that may be meant, an installed one is taken.
func (d Draft) YAML(state func(profile string) string) []byte {
	var w draftWriter
	w.line("# The configuration of %s, for tandem check.", cmp.Or(d.Package, "a program"))
	w.line("# Written by tandem init, after one run of the program without peers. The guide")
	w.line("# has all keys; tandem config prints the values of those that are not here.")
	// Without arguments the key is left out: the command line can have them.
	if len(d.Args) > 0 {
		text, err := encode("args", nodeOf(d.Args))
		if err != nil {
			panic(err) // a list of texts can be encoded
		}
		w.line("\n%s", strings.TrimSuffix(string(text), "\n"))
	}
	if len(d.Dialled)+len(d.Listened) == 0 {
		w.line("\n# In this run, the program dialled nothing and listened nowhere: it needs no peers.")
		w.line("# peers:")
	} else {
		w.line("\n# The real programs on the other side of the connections.")
	}
	entries := draftWriter{state: state, names: map[string]bool{}, addresses: map[string]bool{}}
	// An address has one peer, and its further names go into hosts. A name without a profile may be
	// one of these, so peers with a profile come first.
	for _, hasProfile := range []bool{true, false} {
		for _, wanted := range d.Dialled {
			if (len(wanted.Profiles()) > 0) == hasProfile {
				entries.server(wanted)
			}
		}
	}
	for _, at := range d.Listened {
		entries.client(at)
	}
	// Comments alone would leave the key without a value, which is an error.
	switch {
	case entries.live:
		w.line("peers:")
	case entries.text.Len() > 0:
		w.line("# peers:")
	}
	w.text.WriteString(entries.text.String())
	if len(entries.hosts) > 0 {
		w.line("\n# Further names of peers.\nhosts:\n%s", strings.Join(entries.hosts, "\n"))
	}
	// A newcomer looks for these first.
	w.line("\n# Other common settings, each with its default.")
	w.line("# bounds: {executions: 10000, depth: 10000, time: 10m}")
	w.line("# faults: 0     # how often the network may fail in an execution")
	w.line("# leaks: false  # whether goroutines that stay blocked are a violation")
	return []byte(w.text.String())
}

// draftWriter collects the lines of a draft.
type draftWriter struct {
	text strings.Builder
	// state is that of a profile: see Draft.YAML.
	state func(profile string) string
	// live says that there is an entry that is no comment.
	live bool
	// names and addresses are those of the entries that are no comments.
	names, addresses map[string]bool
	hosts            []string // lines of names whose addresses are those of entries
}

// line writes a line.
func (w *draftWriter) line(format string, a ...any) { fmt.Fprintf(&w.text, format+"\n", a...) }

// comment writes an entry that the user has to complete.
func (w *draftWriter) comment(entry []string) {
	for _, text := range entry {
		w.line("  # %s", strings.TrimPrefix(text, "  "))
	}
}

// installed is how the state of a profile begins whose program is there.
const installed = "installed"

// choose is the profile that is written of several: the first that is installed, or the first. The
// names of the others are for a comment, so that nobody has to look for them. The list is not
// empty.
func (w *draftWriter) choose(list []peers.Profile) (one peers.Profile, others string) {
	i := max(0, slices.IndexFunc(list, func(p peers.Profile) bool { return w.state(p.Name) == installed }))
	var names []string
	for j, p := range list {
		if j != i {
			names = append(names, p.Name)
		}
	}
	return list[i], strings.Join(names, ", ")
}

// server writes the entry of a server that the program has dialled. It is a comment where no
// profile is known for it, or where another entry has its address.
func (w *draftWriter) server(wanted Wanted) {
	list := wanted.Profiles()
	listen, remote := wanted.local(len(list) > 0)
	var p peers.Profile
	var others string
	if len(list) > 0 {
		p, others = w.choose(list)
		port := cmp.Or(listen.At.Port(), uint16(p.Port)) // a name alone has none
		listen.At = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	}
	at := listen.String()
	switch {
	case w.addresses[at] && w.names[wanted.Name]: // the name of a peer leads to it
	case w.addresses[at] && wanted.Name != "":
		w.hosts = append(w.hosts, fmt.Sprintf("  %s: 127.0.0.1  # the program dials %s", wanted.Name, wanted))
	case len(list) == 0 || w.addresses[at]:
		w.line("  # The program dials %s. Say what is there:", wanted)
		entry := Wanted{Address: listen}.generic()
		if wanted.Name != "" {
			entry[0] = "  - name: " + wanted.Name
		}
		w.comment(entry)
		w.line("  # or, if no peer is to be there, outside of peers: absent: [%s]", wanted.absent())
	default:
		w.line("  # The program dials %s: %s.", wanted, p.Title)
		if remote {
			w.line("  # Peers are on loopback: have the program dial %s.", inFile(listen))
		}
		w.profile(p, int(listen.At.Port()), wanted.Name, others)
		w.addresses[at] = true
	}
}

// client writes the entry of a client for an address at which the program listens.
func (w *draftWriter) client(at Wanted) {
	var list []peers.Profile
	a := at.Address // names are of those who are dialled
	if a.Network == proxy.TCP {
		list = peers.AtPort(int(a.At.Port()), true)
	}
	if len(list) == 0 {
		w.line("  # The program listens at %s. Say who connects:", at)
		w.comment([]string{"  - name: " + nameOf("client", a), anyCommand, "    after: " + waitsFor(a)})
		return
	}
	p, others := w.choose(list)
	w.line("  # The program listens at %s: %s.", at, p.Title)
	w.profile(p, int(a.At.Port()), "", others)
}

// profile writes an entry with a profile. Peers have different names: of a second one with the same
// profile, the port is a part of it.
func (w *draftWriter) profile(p peers.Profile, port int, name, others string) {
	w.live = true
	w.line("  - profile: %s", p.Name)
	if name = cmp.Or(name, p.Name); w.names[name] {
		name = fmt.Sprintf("%s-%d", name, port)
	}
	if name != p.Name {
		w.line("    name: %s", name)
	}
	w.names[name] = true
	if port != p.Port {
		w.line("    port: %d", port)
	}
	// A check would fail with the same advice.
	if state := w.state(p.Name); state != installed {
		w.line("    # Its program is not here yet: %s.", state)
	}
	if others != "" {
		w.line("    # Other profiles for this port: %s.", others)
	}
}
