package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

// TestMoreBadFiles: problems that are found late, or in files beside the configuration, have a line
// and a reason like all others.
func TestMoreBadFiles(t *testing.T) {
	manyMasks := "mask:\n" + strings.Repeat("- {pattern: a}\n", maxMasks+1)
	for text, want := range map[string]string{
		"date: tomorrow": `x.yaml:1: date: "tomorrow" is no date from 1971 to 2200: give one such as ` +
			`2026-01-31 or 2026-01-31T18:00:00Z, or now`,
		"prepare: [{path: '{scratch}/x', command: [a]}]": "x.yaml:1: " +
			"prepare: it has no effect without peers: " +
			"add some, or leave it out",
		peer + "files: [{path: x/, content: a}]": "x.yaml:2: " +
			"files[0].path: it ends with a slash, so that it " +
			"names an empty directory, which has no content: leave out one of them",
		peer + "files: [{path: x, base64: '?'}]": "x.yaml:2: " +
			"files[0].base64: this is not in base 64: illegal " +
			"base64 data at input byte 0",
		peer + "files: [{path: x, from: directory, mode: '0600'}]": "x.yaml:2: " +
			"files[0].mode: directory is a " +
			"directory, whose files keep their modes: leave it out",
		peer + "files: [{path: x, content: a, mode: '0'}]": `x.yaml:2: files[0].mode: "0" is not allowed: ` +
			`give permissions in octal, from 0001 to 0777, such as 0600`,
		manyMasks: "x.yaml:1: mask: there are 101 rules, and 100 is the limit: leave some out",
		"peers: [{profile: python, program: nowhere}]": "x.yaml:1: " +
			"peers[0].program: nowhere: there is no such " +
			"file: check the name",
		"peers: [{name: a, command: [a], port: 1}]": "x.yaml:1: " +
			"peers[0].port: it is for a profile: name one " +
			"under profile, or say it in the command",
		"peers: [{name: a, command: [a], clock: sun}]": `x.yaml:1: peers[0].clock: "sun" is not allowed: ` +
			`choose machine or virtual`,
		"peers: [{profile: redis, port: 0}]": "x.yaml:1: " +
			"peers[0].port: 0 is not allowed: give one from 1 to " +
			"65535",
		"peers: [{profile: redis, directory: nowhere}]": "x.yaml:1: " +
			"peers[0].directory: there is no directory " +
			"nowhere: name an existing one",
		"peers: [{profile: redis, command: [a], arguments: [b]}]": "x.yaml:1: " +
			"peers[0].arguments: the command " +
			"is used as it is, instead of that of the profile: add them to it",
		"peers: &p\n- {name: a, command: [a]}": "x.yaml:1: peers: anchors and aliases are not supported: " +
			"write the value out",
		"peers:":         "x.yaml:1: peers: there is no value: give a list of mappings, or leave the key out",
		"bounds:":        "x.yaml:1: bounds: there is no value: give a mapping, or leave the key out",
		"env: {A: &a b}": `x.yaml:1: env["A"]: anchors and aliases are not supported: write the value out`,
	} {
		_, err := parse("x.yaml", []byte(text), beside{
			read: func(name string) ([]byte, error) { return readFile(name, 10) }, tree: named.tree,
		})
		if err == nil || err.Error() != want {
			t.Errorf("%.80s\n(-want +got)\n%s", text, cmp.Diff(want, fmt.Sprint(err)))
		}
	}
}

// TestUnreadableFiles: what keeps a file from being read is an error that names it, and a pipe is
// not waited for.
func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, long, strings.Repeat("x", 11))
	for name, want := range map[string]string{
		pipe: " is not a regular file", long: " is larger than the 10 bytes that are allowed",
		filepath.Join(dir, "none"):  ": there is no such file",
		filepath.Join(long, "none"): ": not a directory",
		dir:                         " is not a regular file",
	} {
		data, err := readFile(name, 10)
		if err == nil || data != nil || !strings.Contains(err.Error(), name+want) {
			t.Errorf("%q, %v; want %s", data, err, name+want)
		}
	}
	if data, err := readFile(long, 11); err != nil || len(data) != 11 {
		t.Errorf("as long as it may be: %d bytes, %v", len(data), err)
	}
	broken := filepath.Join(dir, "tandem.yaml")
	if err := os.Symlink("tandem.yaml", broken); err != nil { // leads to itself
		t.Fatal(err)
	}
	if _, err := LoadFrom(dir); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link to itself is read as if there were no file: %v", err)
	}
	for _, none := range []string{filepath.Join(dir, "none"), long} {
		if c, err := LoadFrom(none); err != nil || !cmp.Equal(c, Default()) {
			t.Errorf("%s: %v", none, err)
		}
	}
}

// TestDirectoriesAreCopied: from may name a directory beside the file, of which all files are
// taken.
func TestDirectoriesAreCopied(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "www", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "www", "index.html"), "<p>")
	testkit.WriteFile(t, filepath.Join(dir, "www", "sub", "a"), "A")
	file := filepath.Join(dir, "x.yaml")
	testkit.WriteFile(t, file, peer+"files: [{path: '{scratch}/pages', from: www}]\n")
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range c.Group.Files {
		got[f.Path] = string(f.Content)
	}
	want := map[string]string{"{scratch}/pages/index.html": "<p>", "{scratch}/pages/sub/a": "A"}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWherePeersListen: a peer is known by its name; one that is not there, or that listens
// nowhere, has no addresses.
func TestWherePeersListen(t *testing.T) {
	c, err := parse("x.yaml",
		[]byte("peers:\n- {name: a, command: [a], listen: [127.0.0.1:80, 'udp:[::1]:53']}\n"+
			"- {name: b, command: [b]}\n"), beside{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a": "[127.0.0.1:80 udp [::1]:53]", "b": "[]", "c": "[]", "": "[]",
	} {
		if got := fmt.Sprint(c.Listens(name)); got != want {
			t.Errorf("%q listens at %s, want %s", name, got, want)
		}
	}
	if got := Default().Listens("a"); got != nil {
		t.Errorf("without peers: %v", got)
	}
}

// TestNamesOfPeers: a peer is found under its name where it listens, on loopback if it listens
// everywhere; each address counts once, and those that are no host's do not.
func TestNamesOfPeers(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1", "0.0.0.0:80": "127.0.0.1", "[::]:80": "::1", "[::1]:80": "::1",
		"127.0.0.2:80 127.0.0.2:81": "127.0.0.2", "0.0.0.0:80 [::]:80": "127.0.0.1 ::1",
		"unix:/run/x": "", "": "", "unix:@x udp:127.0.0.3:53": "127.0.0.3", "nonsense": "",
	} {
		var got []string
		for _, ip := range reachedAt(peers.Peer{Listen: listen}) {
			got = append(got, ip.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", listen, got, want)
		}
	}
	for name, want := range map[string]bool{
		"a": true, "A-1.b_c": true, "": false, "a b": false, ".a": false, "a.": true, "a..b": false,
		"ä":                      false,
		strings.Repeat("a", 253): true, strings.Repeat("a", 254): false, "a/b": false,
	} {
		if got := validHost(name); got != want {
			t.Errorf("%q can be the name of a host: %t", name, got)
		}
	}
}

// TestHostLines: the lines of hosts are those of the file, then those of peers that it does not
// name, and each of them can be read.
func TestHostLines(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "no host", "d.e"})
	rapid.Check(t, func(t *rapid.T) {
		d, given := groupKeys{}, map[string]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "hosts") {
			h := pair{name.Draw(t, "host"), rapid.SampledFrom([]string{"127.0.0.1", "::1", "10.0.0.1", "x"}).
				Draw(t, "address")}
			d.Hosts = append(d.Hosts, h)
			given[h.Key] = given[h.Key] || h.Key != "no host" && (h.Value == "127.0.0.1" || h.Value == "::1")
		}
		var group []peers.Peer
		for range rapid.IntRange(0, 3).Draw(t, "peers") {
			group = append(group, peers.Peer{Name: name.Draw(t, "peer"), Listen: "127.0.0.9:80"})
		}
		lines, problems := d.hosts(group)
		for i, line := range lines {
			address, host, _ := strings.Cut(line, " ")
			ip, err := netip.ParseAddr(address)
			if err != nil || !ip.IsLoopback() || !validHost(host) {
				t.Fatalf("line %q: %v", line, err)
			}
			if isPeer := address == "127.0.0.9"; isPeer && given[host] || isPeer &&
				i < len(d.Hosts)-len(problems) {
				t.Fatalf("the peer %s is in line %d of %q, and the file has %v", host, i, lines, d.Hosts)
			}
		}
		for _, p := range group {
			if found := slices.ContainsFunc(lines, func(l string) bool {
				return strings.HasSuffix(l,
					" "+p.Name)
			}); found !=
				validHost(p.Name) {
				t.Fatalf("the peer %q is found: %t, in %q", p.Name, found, lines)
			}
		}
	})
}

// TestOverriding: variables of an entry take the place of those of its profile, and come last.
func TestOverriding(t *testing.T) {
	variable := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"A", "B", "AB", ""}).Draw(t, "name") + "=" +
			rapid.SampledFrom([]string{"", "1", "x=y"}).Draw(t, "value")
	})
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SliceOfN(variable, 0, 4).Draw(t, "profile")
		by := rapid.SliceOfN(variable, 0, 3).Draw(t, "entry")
		kept := slices.Clone(of)
		got := override(of, by)
		if !slices.Equal(of, kept) {
			t.Fatalf("the profile was changed: %q", of)
		}
		if !slices.Equal(got[len(got)-len(by):], by) {
			t.Fatalf("%q over %q is %q", by, of, got)
		}
		names := map[string]bool{}
		for _, v := range by {
			name, _, _ := strings.Cut(v, "=")
			names[name] = true
		}
		var want []string
		for _, v := range of {
			if name, _, _ := strings.Cut(v, "="); !names[name] {
				want = append(want, v)
			}
		}
		if !slices.Equal(got[:len(got)-len(by)], want) {
			t.Fatalf("%q over %q keeps %q, want %q", by, of, got[:len(got)-len(by)], want)
		}
	})
}

// slowDistance is the distance of two names by its definition.
func slowDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	replaced := slowDistance(a[1:], b[1:])
	if a[0] != b[0] {
		replaced++
	}
	return min(replaced, slowDistance(a[1:], b)+1, slowDistance(a, b[1:])+1)
}

// TestDistanceTwin: the table finds the fewest changes that make one name of another.
func TestDistanceTwin(t *testing.T) {
	word := rapid.StringMatching("[abc]{0,5}")
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), slowDistance(a, b); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
}

// TestMisspeltKeys: a key with one wrong letter is recognised, whichever it is and at whatever
// place.
func TestMisspeltKeys(t *testing.T) {
	for name := range schema.fields {
		if len(name) < 4 {
			continue
		}
		for i := range name {
			for _, wrong := range []string{name[:i] + "q" + name[i+1:], name[:i] + name[i+1:],
				name[:i] + "q" + name[i:]} {
				if _, known := schema.fields[wrong]; known {
					continue
				}
				if got := suggestion(wrong, schema.fields); !strings.HasPrefix(got,
					": did you mean "+name+"?") &&
					!anotherIsAsNear(wrong, name) {
					t.Errorf("%s: %.40s, want %s", wrong, got, name)
				}
			}
		}
	}
}

// anotherIsAsNear says whether another key may as well have been meant.
func anotherIsAsNear(wrong, name string) bool {
	for other := range schema.fields {
		if other != name && distance(wrong, other) <= distance(wrong, name) {
			return true
		}
	}
	return false
}

// TestNamesOfSignals: those that a program can handle are found by name, all others are refused
// with a reason.
func TestNamesOfSignals(t *testing.T) {
	for name, want := range map[string]any{
		"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP,
		"SIGUSR1": syscall.SIGUSR1,
		"SIGKILL": "cannot be handled by a program", "SIGSTOP": "cannot be handled by a program",
		"SIGSEGV": "is for the Go runtime", "SIGPROF": "is for the Go runtime",
		"SIGBUS": "is for the Go runtime",
		"INT":    "is no signal", "sigint": "is no signal", "": "is no signal", "2": "is no signal",
	} {
		s, err := signalByName(name)
		switch want := want.(type) {
		case syscall.Signal:
			if s != want || err != nil {
				t.Errorf("%s: %v, %v", name, s, err)
			}
		case string:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v; want %q", name, s, err, want)
			}
		}
	}
}

// TestBoundsOfNumbers: a number is allowed from 1 up to its bound, which the reason names.
func TestBoundsOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 1000).Draw(t, "most")
		n := rapid.IntRange(-5, 1005).Draw(t, "number")
		err := within(n, most)
		if (err == nil) != (n >= 1 && n <= most) {
			t.Fatalf("%d of at most %d: %v", n, most, err)
		}
		if want := fmt.Sprintf("%d is not allowed: give a number from 1 to %d", n, most); err != nil &&
			err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	})
}

// TestHostnames: a machine may be called by letters, digits, dots and hyphens.
func TestHostnames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "tandem": true, "A-1.b": true, strings.Repeat("x", 63): true, "": false,
		strings.Repeat("x", 64): false, "a b": false, "a_b": false, "ä": false, "a\n": false,
	} {
		if err := validHostname(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestInputOfPrograms: the standard input is a text or a file, and empty without either.
func TestInputOfPrograms(t *testing.T) {
	text, file := "text", "file"
	read := func(name string) ([]byte, error) {
		if name != file {
			return nil, fs.ErrNotExist
		}
		return []byte("content"), nil
	}
	for _, test := range []struct {
		keys    worldKeys
		want    string
		isWrong bool
	}{
		{worldKeys{}, "", false}, {worldKeys{Stdin: &text}, "text", false},
		{worldKeys{StdinFrom: &file}, "content", false}, {worldKeys{StdinFrom: &text}, "", true},
		{worldKeys{Stdin: &text, StdinFrom: &file}, "", true},
	} {
		if got, err := test.keys.input(read); string(got) != test.want || (err != nil) != test.isWrong {
			t.Errorf("%+v: %q, %v", test.keys, got, err)
		}
	}
}

// TestFaultsOfFlags: faults take the place of all that there were, and leave the rest of the world.
func TestFaultsOfFlags(t *testing.T) {
	c := Default()
	c.World.Hostname, c.World.FaultPeers = "kept", []string{"old"}
	c.SetFaults(Faults{Limit: 3, Kinds: []string{"reset"}, Operations: []string{"read"}})
	want := Default().World
	want.Hostname, want.Faults = "kept", 3
	want.FaultKinds, want.FaultOperations = []string{"reset"}, []string{"read"}
	if diff := cmp.Diff(want, c.World); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, kind := range DefaultFaultKinds() {
		if !slices.Contains(FaultKinds(), kind) || !slices.Contains(sut.FaultKinds, kind) {
			t.Errorf("%s is no kind of fault", kind)
		}
	}
	if names := Strategies(); !slices.Contains(names, Default().Strategy) {
		t.Errorf("the default strategy is none of %q", names)
	}
}
