package peers

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

// complete are parameters with which every profile can be expanded.
func complete(p Profile) Parameters {
	if p.Runs != "" {
		return Parameters{Program: []byte("#!/bin/true\n")}
	}
	return Parameters{}
}

func TestProfilesAreValid(t *testing.T) {
	all := Profiles()
	if !slices.IsSortedFunc(all, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the profiles are not in the order of their names")
	}
	var together Group
	for i, p := range all {
		a := complete(p)
		a.Port = 3000 + i
		g, err := p.Expand(a)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if err := g.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Title == "" || p.Port == 0 || (p.Package == "") != (p.Program == "" || p.Advice != "") {
			t.Errorf("%s: it does not say all that a list of profiles shows: %+v", p.Name, p)
		}
		if p.Asks == "" && p.Serves == "" && p.Offers == "" && p.Runs == "" &&
			!slices.Contains([]string{"memcached", "mosquitto", "redis"}, p.Name) {
			t.Errorf("%s: it does not say what it has, and how to log in", p.Name)
		}
		for _, f := range g.Files {
			own, home := Scratch+"/"+p.Name+"/", Scratch+"/root/"
			if !strings.HasPrefix(f.Path, own) && (len(p.HostKeys) == 0 || !strings.HasPrefix(f.Path, home)) {
				t.Errorf("%s: the file %s is outside of %s", p.Name, f.Path, own)
			}
		}
		together = together.Merge(g)
	}
	if err := together.Validate(); err != nil {
		t.Errorf("all in one group: %v", err)
	}
}

// testDirectory is what a peer serves in tests.
var testDirectory = fstest.MapFS{"a/b": {Data: []byte("x"), Mode: 0o600}, "run": {Mode: 0o775}}

// dropbearFiles are those of its profile, but for what is in the home directory.
var dropbearFiles = []string{"{scratch}/dropbear/host_key_ecdsa", "{scratch}/dropbear/host_key_ed25519",
	"{scratch}/dropbear/host_key_rsa", "{scratch}/dropbear/shadow"}

// expansions are what becomes of profiles with parameters.
var expansions = []struct {
	profile string
	a       Parameters
	listen  string
	after   string   // listen N: it is a client
	files   []string // paths
	refused string
}{
	{
		profile: "merecat",
		listen:  "127.0.0.1:8080",
		files:   []string{"{scratch}/merecat/merecat.conf", "{scratch}/merecat/www/index.html"},
	},
	{
		profile: "merecat",
		a:       Parameters{Name: "www2", Port: 81, Directory: testDirectory, Arguments: []string{"-x"}},
		listen:  "127.0.0.1:81",
		files: []string{
			"{scratch}/www2/merecat.conf",
			"{scratch}/www2/www/a/b",
			"{scratch}/www2/www/run",
		},
	},
	{profile: "dropbear", listen: "127.0.0.1:2222", files: slices.Concat(dropbearFiles,
		[]string{"{scratch}/root/.ssh/authorized_keys"})},
	{profile: "dropbear", a: Parameters{Directory: testDirectory}, listen: "127.0.0.1:2222",
		files: slices.Concat(dropbearFiles, []string{"{scratch}/root/.ssh/authorized_keys",
			"{scratch}/root/a/b", "{scratch}/root/run"})},
	// A key of the directory takes the place of the profile's.
	{profile: "dropbear", a: Parameters{Directory: fstest.MapFS{".ssh/authorized_keys": {}}},
		listen: "127.0.0.1:2222",
		files:  slices.Concat(dropbearFiles, []string{"{scratch}/root/.ssh/authorized_keys"})},
	{
		profile: "python",
		a:       Parameters{Program: []byte("print()")},
		listen:  "127.0.0.1:8000",
		files:   []string{"{scratch}/python/program.py", "{scratch}/python/www/index.html"},
	},
	{profile: "curl", a: Parameters{Port: 81}, after: "listen 81"},
	{
		profile: "curl",
		a:       Parameters{Arguments: []string{"-I", "http://{sut}:8080"}},
		after:   "listen 8080",
	},
	{
		profile: "dbclient",
		after:   "listen 2222",
		files:   []string{"{scratch}/dbclient/key", "{scratch}/dbclient/key.pub"},
	},
	{
		profile: "redis-cli",
		a:       Parameters{Program: []byte("ping\n")},
		after:   "listen 6379",
		files:   []string{"{scratch}/redis-cli/commands"},
	},
	{profile: "redis-cli", a: Parameters{Directory: testDirectory}, refused: "takes no directory"},
	{profile: "go", refused: "needs a program: name a static server"},
	{profile: "redis", a: Parameters{Directory: testDirectory}, refused: "takes no directory"},
	{profile: "redis", a: Parameters{Program: []byte("x")}, refused: "takes no program"},
	{profile: "redis", a: Parameters{Port: 65536}, refused: "port 65536 is not allowed"},
	{profile: "redis", a: Parameters{Port: -1}, refused: "port -1 is not allowed"},
	{profile: "redis", a: Parameters{Name: "a/../b"}, refused: "the name \"a/../b\""},
	{profile: "redis", a: Parameters{Name: ".."}, refused: "the name \"..\""},
	{
		profile: "merecat",
		a:       Parameters{Directory: fstest.MapFS{"p": {Mode: fs.ModeNamedPipe}}},
		refused: "only directories and regular files",
	},
	{profile: "merecat", a: Parameters{Directory: tooMany()}, refused: "more than 4096 files"},
}

func TestParametersOfProfiles(t *testing.T) {
	for _, test := range expansions {
		p, err := FindProfile(test.profile)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Expand(test.a)
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) ||
				!strings.Contains(err.Error(), "profile "+test.profile) {
				t.Errorf("%s with %+v: %v", test.profile, test.a, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s with %+v: %v", test.profile, test.a, err)
			continue
		}
		var paths []string
		for _, f := range g.Files {
			paths = append(paths, f.Path)
		}
		slices.Sort(paths)
		if diff := cmp.Diff(test.files, paths); diff != "" || g.Peers[0].Listen != test.listen ||
			g.Peers[0].After != test.after {
			t.Errorf("%s with %+v listens at %q or is started after %q, files (-want +got)\n%s",
				test.profile, test.a, g.Peers[0].Listen, g.Peers[0].After, diff)
		}
		if n := len(test.a.Arguments); !slices.Equal(
			test.a.Arguments,
			g.Peers[0].Command[len(g.Peers[0].Command)-n:],
		) {
			t.Errorf("%s: its command is %q", test.profile, g.Peers[0].Command)
		}
	}
}

// TestClientsAsk: where nothing is said, a client asks something all the same.
func TestClientsAsk(t *testing.T) {
	for name, want := range map[string]string{
		"curl":      "http://{sut}:8080/",
		"dbclient":  "true",
		"redis-cli": "ping",
	} {
		p, err := FindProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Expand(Parameters{})
		if err != nil {
			t.Fatal(err)
		}
		if c := g.Peers[0].Command; c[len(c)-1] != want || g.Peers[0].Expect != "exit 0" {
			t.Errorf("%s: %q, and to end it is expected to %s", name, c, g.Peers[0].Expect)
		}
	}
}

// TestClientKey: the public key that is told is that of the key.
func TestClientKey(t *testing.T) {
	p, err := FindProfile("dbclient")
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Expand(Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	key, fields := g.Files[0].Content, strings.Fields(string(g.Files[1].Content))
	public, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || !bytes.HasSuffix(key, public[len(public)-32:]) {
		t.Errorf("%q, %v: it is not that of the key", fields, err)
	}
}

// TestKeysOfSSHServers: the public keys that are told are those of the files, one of each type that
// clients ask for, and the client's key is the one that is let in.
func TestKeysOfSSHServers(t *testing.T) {
	for _, name := range []string{"dropbear", "dropbear-inetd", "sshd"} {
		p, err := FindProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Expand(Parameters{})
		if err != nil {
			t.Fatal(err)
		}
		content := map[string][]byte{}
		for _, f := range g.Files {
			content[f.Path] = f.Content
		}
		told := map[string]string{}
		for _, line := range p.HostKeys {
			key, comment, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
			if err != nil || !strings.Contains(comment, "test key") {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			kind := strings.Split(strings.TrimPrefix(key.Type(), "ssh-"), "-")[0]
			told[kind] = string(key.Marshal())
		}
		for _, kind := range []string{"ecdsa", "ed25519", "rsa"} {
			file := content["{scratch}/"+name+"/host_key_"+kind]
			if got := publicKey(t, file); got == "" || got != told[kind] {
				t.Errorf("%s: the key %s that is told is not that of the file", name, kind)
			}
		}
		let, _, _, _, err := ssh.ParseAuthorizedKey(content["{scratch}/root/.ssh/authorized_keys"])
		if err != nil || string(let.Marshal()) != publicKey(t, []byte(p.ClientKey)) {
			t.Errorf("%s: the key of the client is not let in: %v", name, err)
		}
	}
}

// publicKey is that of a private key in the format of OpenSSH, or in that of Dropbear: there it is
// followed by the private numbers, and of an RSA or ECDSA key it begins with the same fields.
func publicKey(t *testing.T, private []byte) string {
	if signer, err := ssh.ParsePrivateKey(private); err == nil {
		return string(signer.PublicKey().Marshal())
	}
	var fields struct {
		Type string
		Rest []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(private, &fields); err != nil {
		t.Fatal(err)
	}
	const seed = 32
	if fields.Type == ssh.KeyAlgoED25519 { // a seed and the public key in one field
		key := private[len(private)-seed:]
		return string(ssh.Marshal(struct{ Type, Key string }{fields.Type, string(key)}))
	}
	n := map[string]int{ssh.KeyAlgoRSA: 2, ssh.KeyAlgoECDSA256: 2}[fields.Type]
	end := len(private) - len(fields.Rest)
	for range n {
		end += 4 + int(binary.BigEndian.Uint32(private[end:]))
	}
	return string(private[:end])
}

func tooMany() fs.FS {
	directory := fstest.MapFS{}
	for i := range MaxFiles + 1 {
		directory[strings.Repeat("x", 1+i%200)+"/"+strings.Repeat("y", 1+i/200)] = &fstest.MapFile{}
	}
	return directory
}

func TestUnknownProfile(t *testing.T) {
	if _, err := FindProfile("redsi"); err == nil || !strings.Contains(err.Error(), "redis") {
		t.Errorf("%v", err)
	}
}

// TestModesAreTheSameForEverybody: what a peer sees does not depend on the umask of who
// has checked out the files.
func TestModesAreTheSameForEverybody(t *testing.T) {
	got, err := CopyOf(
		fstest.MapFS{"a": {Mode: 0o664}, "b": {Mode: 0o600}, "c": {Mode: 0o775}, "d": {Mode: 0o700}},
		"{scratch}/x",
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []fs.FileMode{0o644, 0o644, 0o755, 0o755} {
		if got[i].Mode != want {
			t.Errorf("%s has mode %v, not %v", got[i].Path, got[i].Mode, want)
		}
	}
}

func TestMerge(t *testing.T) {
	a := Group{
		Peers: []Peer{{Name: "a"}}, ReadyTimeout: 1,
		Files: []File{{Path: "x", Content: []byte("a's")}, {Path: "y", Content: []byte("a's")}},
		Binds: map[string]string{"/x": "a", "/y": "a"},
	}
	b := Group{
		Peers: []Peer{{Name: "b"}}, ReadyTimeout: 2,
		Files: []File{{Path: "y", Content: []byte("b's")}},
		Binds: map[string]string{"/y": "b"},
	}
	want := Group{
		Peers: []Peer{{Name: "a"}, {Name: "b"}}, ReadyTimeout: 2,
		Files: []File{{Path: "x", Content: []byte("a's")}, {Path: "y", Content: []byte("b's")}},
		Binds: map[string]string{"/x": "a", "/y": "b"},
	}
	if diff := cmp.Diff(want, a.Merge(b)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestProgramsAreTakenAsTheyAre: the word for the scratch directory means something in
// texts, and nothing in a program.
func TestProgramsAreTakenAsTheyAre(t *testing.T) {
	g := Group{
		Files: []File{
			{Path: "text", Content: []byte("in {scratch}")},
			{Path: "program", Content: []byte("\x7fELF\x00{scratch}")},
		},
	}
	files := g.In("/run/s").Files
	if text, program := string(files[0].Content), string(files[1].Content); text != "in /run/s" ||
		program != "\x7fELF\x00{scratch}" {
		t.Errorf("the text is %q, the program %q", text, program)
	}
}
