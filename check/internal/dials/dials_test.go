package dials

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

func at(t interface{ Fatal(...any) }, text string) proxy.Address {
	a, err := proxy.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestFound: what is missed is what is dialled in vain, and neither the program's own nor a peer's.
func TestFound(t *testing.T) {
	refused := func(address string) sut.Dial {
		return sut.Dial{Address: at(t, address), Result: syscall.ECONNREFUSED}
	}
	noName := func(name string) sut.Dial { return sut.Dial{Name: name, Result: syscall.ENOENT} }
	reached := func(address string) sut.Dial { return sut.Dial{Address: at(t, address)} }
	serves := func(address string) sut.Dial { return sut.Dial{Address: at(t, address), Serves: true} }
	own := func(d sut.Dial) sut.Dial { d.Own = true; return d }
	group := &peers.Group{Peers: []peers.Peer{{Name: "a", Listen: "127.0.0.1:80 udp:127.0.0.1:53"}}}
	refusal := func(address string) string { return address + " connection refused" }
	every := func(where string) string {
		return "the program reached no peer: none is configured " + where
	}
	for name, c := range map[string]struct {
		dials   []sut.Dial
		group   *peers.Group
		want    string // addresses and results
		vacuous string
	}{
		"nothing": {},
		"refused": {[]sut.Dial{refused("127.0.0.1:81")}, nil, refusal("127.0.0.1:81"),
			every("at 127.0.0.1:81")},
		"localhost": {[]sut.Dial{refused("[::1]:81"), refused("127.0.0.1:81")}, nil,
			refusal("127.0.0.1:81"), every("at 127.0.0.1:81")},
		"only IPv6": {[]sut.Dial{refused("[::1]:81")}, nil, refusal("[::1]:81"),
			every("at [::1]:81")},
		"a name": {[]sut.Dial{noName("db.test.")}, nil, "db.test no such host",
			every("with the name db.test")},
		"UDP": {[]sut.Dial{refused("udp 127.0.0.1:5")}, nil, refusal("udp:127.0.0.1:5"),
			every("at udp:127.0.0.1:5")},
		"Unix socket": {[]sut.Dial{refused("unix /run/x")}, nil, refusal("unix:/run/x"),
			every("at unix:/run/x")},
		"one of two": {[]sut.Dial{refused("127.0.0.1:81"), reached("127.0.0.1:82")}, nil,
			refusal("127.0.0.1:81"), ""},
		"own, before it listens": {[]sut.Dial{refused("127.0.0.1:81"), serves("[::]:81")}, nil, "", ""},
		"own, in one execution": {[]sut.Dial{refused("127.0.0.1:81"), own(reached("127.0.0.1:81"))},
			nil, "", ""},
		"own, closed": {[]sut.Dial{own(refused("127.0.0.1:81"))}, nil, "", ""},
		"own, and another": {[]sut.Dial{own(refused("127.0.0.1:81")), refused("127.0.0.1:82")}, nil,
			refusal("127.0.0.1:82"), ""},
		"a peer refuses":  {[]sut.Dial{refused("127.0.0.1:80")}, group, "", ""},
		"a peer, by IPv6": {[]sut.Dial{refused("[::1]:80"), reached("127.0.0.1:80")}, group, "", ""},
		"beside a peer": {[]sut.Dial{refused("127.0.0.1:81")}, group, refusal("127.0.0.1:81"),
			every("at 127.0.0.1:81")},
		"another network": {[]sut.Dial{refused("127.0.0.1:53")}, group, refusal("127.0.0.1:53"),
			every("at 127.0.0.1:53")},
		"a peer's port, far": {[]sut.Dial{refused("10.0.0.1:80")}, group, refusal("10.0.0.1:80"),
			every("at 10.0.0.1:80")},
		"a full backlog": {[]sut.Dial{{Address: at(t, "127.0.0.1:81"), Result: syscall.EINPROGRESS}},
			nil, "", ""},
	} {
		var s Set
		for _, d := range c.dials {
			s.Add(&Notes{Dials: []sut.Dial{d}})
		}
		f := s.Found(c.group, nil)
		var got []string
		for _, d := range f.Dialled {
			got = append(got, d.Address+" "+d.Result)
		}
		if text := strings.Join(got, ", "); text != c.want || f.Vacuous != c.vacuous ||
			(f.Configure == nil) != (text == "") {
			t.Errorf("%s: %q, %q, %q; want %q, %q", name, text, f.Vacuous, f.Configure, c.want, c.vacuous)
		}
	}
}

// TestReached: what a peer has sent shows that it is there.
func TestReached(t *testing.T) {
	var s Set
	s.Add(&Notes{Dials: []sut.Dial{{Address: at(t, "127.0.0.1:81"), Result: syscall.ECONNREFUSED}}})
	n := s.News([]sut.Event{{Kind: sut.Stepped}, {Kind: sut.Delivered}}, nil)
	if !s.Add(n) || s.Add(n) || s.News([]sut.Event{{Kind: sut.Delivered}}, nil) != nil {
		t.Errorf("%+v is to be news, once", n)
	}
	if f := s.Found(nil, nil); f.Vacuous != "" || len(f.Dialled) != 1 {
		t.Errorf("%+v", f)
	}
}

// TestWaited: addresses for clients are shown as people write them.
func TestWaited(t *testing.T) {
	var s Set
	s.Add(&Notes{Waited: []proxy.Address{at(t, "[::]:8080"), at(t, "0.0.0.0:81"), at(t, "127.0.0.1:82")}})
	s.Add(&Notes{Waited: []proxy.Address{at(t, "udp [::]:53")}})
	s.Add(&Notes{Waited: []proxy.Address{at(t, "[::]:8080")}})
	want := []string{":8080", ":81", "127.0.0.1:82", "udp::53"}
	if diff := cmp.Diff(want, s.Found(nil, nil).Clients); diff != "" {
		t.Error(diff)
	}
}

// TestConfiguration: what is suggested can be read, once it has a program, and describes peers at
// those addresses.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		listens := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"127.0.0.1:6379", "127.0.0.1:8080", "[::1]:81", "10.1.2.3:443", "udp 127.0.0.1:514",
			"unix /run/tandem/socket", "unix /var/run/docker.sock", "unix @abstract", "name db.example.com",
		}), 0, 4, rapid.ID).Draw(t, "dialled")
		var missing []target
		for _, text := range listens {
			if name, ok := strings.CutPrefix(text, "name "); ok {
				missing = append(missing, target{name: name})
			} else {
				missing = append(missing, target{Address: at(t, text)})
			}
		}
		var waited []proxy.Address
		for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"[::]:8080", "127.0.0.1:90", "udp [::]:53", "unix /run/tandem/served",
		}), 0, 2, rapid.ID).Draw(t, "waited") {
			waited = append(waited, at(t, text))
		}
		lines := configuration(missing, waited)
		if len(missing)+len(waited) == 0 {
			if lines != nil {
				t.Fatalf("%q for nothing", lines)
			}
			return
		}
		text := strings.NewReplacer("PROGRAM, ARGUMENTS", "true", "curl", "true", "PORT", "9").
			Replace(strings.Join(lines, "\n") + "\n")
		file := filepath.Join(dir, "tandem.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := configs.Load(file)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if n := min(len(missing)+len(waited), maxEntries); len(config.Group.Peers) != n {
			t.Fatalf("%d peers, want %d:\n%s", len(config.Group.Peers), n, text)
		}
		for i, at := range missing[:min(len(missing), maxEntries)] {
			if at.name == "" && at.At.Addr().IsLoopback() && !isConfigured(at, config.Group) {
				t.Fatalf("%s is not where peer %d is:\n%s", at.text(), i, text)
			}
		}
	})
}
