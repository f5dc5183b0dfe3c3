package peers

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

func good() Group {
	return Group{
		Peers: []Peer{
			{
				Name:    "x",
				Command: []string{"server", "-d", "{scratch}/x"},
				Env:     []string{"A={scratch}", "PATH=/bin"},
				Listen:  "127.0.0.1:80",
			},
		},
		Files: []File{{Path: "{scratch}/x/y", Content: []byte("in {scratch}")}, {Path: "z", Mode: 0o600}},
		Binds: map[string]string{"/root": "{scratch}/root", "/mnt": "/srv", "/etc/passwd": "{scratch}"},
	}
}

func TestGroupInADirectory(t *testing.T) {
	g := good()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	in := g.In("/run/s")
	p := in.Peers[0]
	if !slices.Equal(p.Command, []string{"server", "-d", "/run/s/x"}) ||
		!slices.Equal(
			p.Env,
			[]string{"PATH=/bin", "HOME=/root", "LANG=C.UTF-8", "GODEBUG=multipathtcp=0", "A=/run/s"},
		) {
		t.Errorf("command %q, environment %q", p.Command, p.Env)
	}
	if p.Directory != "/run/s" {
		t.Errorf("it runs in %s", p.Directory)
	}
	for directory, want := range map[string]string{
		"{scratch}":     "/run/s",
		"{scratch}/a/b": "/run/s/a/b",
		"/":             "/",
		"/srv/x":        "/srv/x",
	} {
		if g.Peers[0].Directory = directory; g.Validate() != nil ||
			g.In("/run/s").Peers[0].Directory != want {
			t.Errorf("the directory %s becomes %s, error %v",
				directory, g.In("/run/s").Peers[0].Directory, g.Validate())
		}
	}
	if f := in.Files; f[0].Path != "/run/s/x/y" || string(f[0].Content) != "in /run/s" ||
		f[0].Mode != 0o644 ||
		f[1].Mode != 0o600 {
		t.Errorf("files %+v", f)
	}
	if b := in.Binds; b["/root"] != "/run/s/root" || b["/mnt"] != "/srv" || b["/etc/passwd"] != "/run/s" {
		t.Errorf("binds %v", b)
	}
	if in.ReadyTimeout != DefaultReadyTimeout || g.ReadyTimeout != 0 {
		t.Errorf("timeout %v, before %v", in.ReadyTimeout, g.ReadyTimeout)
	}
	if again := good(); g.Peers[0].Command[2] != again.Peers[0].Command[2] ||
		g.Peers[0].Env[0] != again.Peers[0].Env[0] {
		t.Error("the group itself was changed")
	}
}

// These change a description, to what is said of it.
func listening(at string) func(*Group)   { return func(g *Group) { g.Peers[0].Listen = at } }
func running(name string) func(*Group)   { return func(g *Group) { g.Peers[0].Command = []string{name} } }
func withEnv(entry string) func(*Group)  { return func(g *Group) { g.Peers[0].Env = []string{entry} } }
func runningIn(path string) func(*Group) { return func(g *Group) { g.Peers[0].Directory = path } }
func withFile(path string) func(*Group)  { return func(g *Group) { g.Files[0].Path = path } }

func binding(target, source string) func(*Group) {
	return func(g *Group) { g.Binds = map[string]string{target: source} }
}

func TestBadDescriptions(t *testing.T) {
	for _, test := range []struct {
		change func(*Group)
		want   string
	}{
		{func(g *Group) { g.Peers = nil }, "peers: there are 0, allowed are 1 to 64"},
		{func(g *Group) { g.Peers = make([]Peer, 65) }, "peers: there are 65, allowed are 1 to 64"},
		{func(g *Group) { g.Peers[0].Name = "" }, "peers[0]: it has no name"},
		{func(g *Group) { g.Peers[0].Command = nil }, "peers[0]: peer x has no command"},
		{running("a\x00"), `peers[0]: peer x: "a\x00" contains a zero byte`},
		{withEnv("\xff"), `peer x: "\xff" contains a zero byte or is not UTF-8`},
		{withEnv("A"), `peers[0]: peer x: the environment entry "A" is not NAME`},
		{withEnv("=A"), `the environment entry "=A" is not NAME=value`},
		{listening("80"), `peers[0]: peer x: listen "80": "80" is not an IP address and port`},
		{listening("127.0.0.1:0"), `listen "127.0.0.1:0": there is no port`},
		{listening("127.0.0.1:80 unix:socket"), `listen "unix:socket": "socket" is neither an absolute path`},
		{listening("[0::1]:80"), `write listen "[0::1]:80" as [::1]:80`},
		{listening("tcp:[::1]:80"), `write listen "tcp:[::1]:80" as [::1]:80`},
		{listening("udp6:[::1]:80"), `listen "udp6:[::1]:80": leave the 6 out`},
		{listening("192.0.2.1:80"), `a group has no network but loopback`},
		{runningIn("a"), `peers[0]: peer x: the directory "a" to run in is neither absolute`},
		{runningIn("/a/.."), `the directory "/a/.." to run in is neither`},
		{runningIn("{scratch}/../x"), `the directory "{scratch}/../x" to run in is neither`},
		{runningIn("{scratch}x"), `the directory "{scratch}x" to run in is neither`},
		{runningIn("/\x00"), `the directory "/\x00" to run in is neither`},
		{func(g *Group) { g.Peers = append(g.Peers, g.Peers[0]) }, `peers[1]: the name "x" is taken`},
		{withFile("/etc/x"), `files[0]: path "/etc/x" does not name a file below {`},
		{withFile("a/../../x"), `files[0]: path "a/../../x" does not name`},
		{withFile(".."), `files[0]: path ".." does not name`},
		{withFile(""), `files[0]: path "" does not name`},
		{withFile("{scratch}/."), `files[0]: path "{scratch}/." does not name`},
		{
			func(g *Group) { g.Files[0].Mode = fs.ModeDir | 0o444 },
			"files[0]: mode dr--r--r-- is more than permission bits",
		},
		{func(g *Group) { g.Files = make([]File, 4097) }, "files: there are 4097, allowed are 4096"},
		{
			func(g *Group) { g.Files[0].Content = make([]byte, MaxContent+1) },
			"files: they hold 67108865 bytes, allowed are 67108864",
		},
		{binding("/proc/sys", "/x"), `binds["/proc/sys"]: /proc of a group is set up`},
		{binding("/run", "/x"), `binds["/run"]: /run of a group is set up by tandem`},
		{binding("x", "/x"), `binds["x"]: the path is not absolute`},
		{binding("/", "/x"), `binds["/"]: the path is not absolute, or not in its`},
		{binding("/a/../b", "/x"), `binds["/a/../b"]: the path is not absolute`},
		{binding("/a", "x"), `binds["/a"]: the source "x" is neither absolute`},
		{binding("/a", "{scratch}x"), `binds["/a"]: the source "{scratch}x" is neither`},
		{binding("/a", "{scratch}/../x"), `binds["/a"]: the source "{scratch}/../x" is neither`},
		{func(g *Group) { g.ReadyTimeout = -time.Second }, "ready timeout: -1s is negative"},
	} {
		g := good()
		test.change(&g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
	g := good()
	g.Peers[0].Name, g.ReadyTimeout = "", -1
	if err := g.Validate(); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not everything that is wrong is reported: %v", err)
	}
}

func FuzzBelow(f *testing.F) {
	for _, p := range []string{
		"a/b", "{scratch}/a", "../x", "/etc/passwd", "a/./b/..", "{scratch}/../x", "\xff",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		below, err := File{Path: path}.Below(Scratch)
		if err == nil && !fs.ValidPath(below) {
			t.Errorf("%q is %q below the scratch directory", path, below)
		}
	})
}

func TestBehavioursOfAGroup(t *testing.T) {
	g := Group{Peers: []Peer{{Name: "a", Choices: 2}, {Name: "b"}, {Name: "c", Choices: 3}}}
	if g.Behaviours() != 6 || !g.Chosen() {
		t.Errorf("2 times 3 behaviours are %d", g.Behaviours())
	}
	seen := map[string]bool{}
	for n := range 6 {
		b := g.Behaving(n)
		if err := b.Validate(); err != nil && !strings.Contains(err.Error(), "command") {
			t.Error(err)
		}
		seen[fmt.Sprint(b.Peers[0].Behaviour, b.Peers[1].Behaviour, b.Peers[2].Behaviour)] = true
	}
	if len(seen) != 6 || g.Peers[2].Behaviour != 0 {
		t.Errorf("they are %v", seen)
	}
	g.Peers[1].Choices = MaxChoices
	if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "together make") {
		t.Errorf("too many behaviours: %v", err)
	}
}
