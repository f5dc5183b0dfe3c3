package configs

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// loaded is a draft as a configuration.
func loaded(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, dir string, text []byte) Config {
	file := filepath.Join(dir, "tandem.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := Load(file)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return config
}

// TestDraftsLoad: whatever a program dials, its first configuration can be loaded. A peer is at
// each address of loopback whose port a profile has.
func TestDraftsLoad(t *testing.T) {
	dir := t.TempDir()
	ports := []uint16{22, 25, 80, 443, 1234, 5432, 6379, 8080, 9999}
	texts := []string{"127.0.0.1", "127.77.0.1", "10.1.2.3", "::1", "2001:db8::1"}
	rapid.Check(t, func(r *rapid.T) {
		address := func() (a proxy.Address) {
			if rapid.IntRange(0, 5).Draw(r, "unix") == 0 {
				a.Network = proxy.Unix
				a.Path = rapid.SampledFrom([]string{"/run/x", "@it's", "/run/tandem/a b"}).Draw(r, "path")
				return a
			}
			a.Network = rapid.SampledFrom([]proxy.Network{proxy.TCP, proxy.UDP}).Draw(r, "network")
			a.At = netip.AddrPortFrom(netip.MustParseAddr(rapid.SampledFrom(texts).Draw(r, "ip")),
				rapid.SampledFrom(ports).Draw(r, "port"))
			return a
		}
		var d Draft
		for range rapid.IntRange(0, 6).Draw(r, "dialled") {
			w := Wanted{Address: address()}
			if w.Address.Network == proxy.TCP {
				w.Name = rapid.SampledFrom([]string{"", "redis", "db.example.com", "cache"}).Draw(r, "name")
			}
			if w.Name != "" && rapid.Bool().Draw(r, "lookup only") {
				w.Address = proxy.Address{}
			}
			same := func(o Wanted) bool { return o == w || w.Name != "" && o.Name == w.Name }
			if !slices.ContainsFunc(d.Dialled, same) {
				d.Dialled = append(d.Dialled, w)
			}
		}
		for range rapid.IntRange(0, 2).Draw(r, "listened") {
			if w := (Wanted{Address: address()}); !slices.Contains(d.Listened, w) {
				d.Listened = append(d.Listened, w)
			}
		}
		d.Args = rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,9}`), 0, 3).Draw(r, "args")
		text := d.YAML(func(profile string) string {
			return map[bool]string{true: installed, false: "no " + profile}[profile < "n"]
		})
		config := loaded(r, dir, text)
		if !slices.Equal(config.Args, d.Args) {
			r.Fatalf("arguments %q, want %q", config.Args, d.Args)
		}
		for _, w := range d.Dialled {
			a := w.Address
			port := int(a.At.Port())
			if a.Network != proxy.TCP || w.Name != "" || len(peers.AtPort(port, false)) == 0 {
				continue
			}
			if !slices.ContainsFunc(config.Group.Peers, func(p peers.Peer) bool {
				at, _ := p.Addresses()
				return len(at) == 1 && int(at[0].At.Port()) == port
			}) {
				r.Fatalf("no peer is at %v in\n%s", a, text)
			}
		}
	})
}

// TestDraftOfNothing: a program that needs no peers is told so.
func TestDraftOfNothing(t *testing.T) {
	text := Draft{Package: "./idle"}.YAML(nil)
	if config := loaded(t, t.TempDir(), text); config.Group != nil {
		t.Errorf("there are peers in\n%s", text)
	}
	if !strings.Contains(string(text), "dialled nothing") {
		t.Errorf("%s", text)
	}
}

// TestSuggestedProfiles: each profile that is suggested for a port can be run there.
func TestSuggestedProfiles(t *testing.T) {
	suggested := 0
	var ports []int
	for _, p := range peers.Profiles() {
		ports = append(append(ports, p.Port), p.Ports...)
	}
	slices.Sort(ports)
	for _, port := range slices.Compact(ports) {
		for _, p := range peers.AtPort(port, false) {
			suggested++
			g, err := p.Expand(peers.Parameters{Port: port})
			if err != nil {
				t.Fatal(err)
			}
			if at, err := g.Peers[0].Addresses(); err != nil || int(at[0].At.Port()) != port {
				t.Errorf("%s listens at %v, %v, want %d", p.Name, at, err, port)
			}
		}
	}
	if suggested < 20 {
		t.Errorf("%d suggestions", suggested)
	}
	for port, want := range map[int]string{22: "dropbear", 2222: "dropbear", 80: "merecat", 8080: "merecat",
		6379: "redis", 5432: "postgres", 3306: "mariadb", 443: "nginx-tls"} {
		if list := peers.AtPort(port, false); len(list) == 0 || list[0].Name != want {
			t.Errorf("port %d: %v, want %s first", port, list, want)
		}
	}
}

// TestNamesOfEntries: entries for different addresses have different names, so that what several
// tests miss can be put into one file.
func TestNamesOfEntries(t *testing.T) {
	names := map[string]string{}
	for _, text := range []string{"127.0.0.1:80", "127.0.0.1:81", "[::1]:80", "udp 127.0.0.1:80",
		"unix /run/x", "unix /run/y"} {
		a, err := proxy.ParseAddress(strings.Replace(text, " ", ":", 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, lines := range [][]string{Wanted{Address: a}.Entry(), ClientEntry(a)} {
			if other := names[lines[0]]; other != "" {
				t.Errorf("%s and %s are both %q", other, text, lines[0])
			}
			names[lines[0]] = text
		}
	}
}

// TestEntryNamesProfiles: where several profiles may be meant, or only the user knows whether one
// is, the entry is for the user to complete, and names them.
func TestEntryNamesProfiles(t *testing.T) {
	at := func(text string) proxy.Address {
		a, err := proxy.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		wanted Wanted
		entry  []string
	}{
		{Wanted{Address: at("127.0.0.1:2222")}, []string{"  - name: peer-2222",
			anyCommand + "  # or, instead of this, a profile: dropbear, dropbear-inetd, sshd",
			"    listen: 127.0.0.1:2222"}},
		{Wanted{Name: "redis"}, []string{"  - name: redis",
			anyCommand + "  # or, instead of this, a profile: redis", "    listen: 127.0.0.1:PORT"}},
		{Wanted{Address: at("127.0.0.1:6379")}, []string{"  - {profile: redis}"}},
		{Wanted{Address: at("127.0.0.1:1")}, []string{"  - name: peer-1", "    command: [PROGRAM, ARGUMENTS]",
			"    listen: 127.0.0.1:1"}},
	} {
		if got := c.wanted.Entry(); !slices.Equal(got, c.entry) {
			t.Errorf("%v: %q, want %q", c.wanted, got, c.entry)
		}
	}
}
