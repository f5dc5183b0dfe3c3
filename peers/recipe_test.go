package peers

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wholeProfile has every field that there is.
const wholeProfile = `title: server of
  things
program: /usr/sbin/thingd
package: things
advice: build it
port: 99
serves: the pages
runs: a script
offers: a thing
asks: nothing

# This is a comment.
command: thingd -p {port} 'a  b'
  -d {own}
command with program: sh {own}/script
arguments: {port}
directory: {own}/www
environment: PORT={port} 'A=b c'
user: daemon
behaviours: 2
clock: virtual
ready timeout: 2m
bind: /etc/things {own}/etc
bind: /root {scratch}/root
prepare: {own}/data
prepare with: sh -c ` + "`echo 'it is\n  made'`" + ` {own}
prepare from: /usr/sbin/thingd
-- etc/thingd.conf 0600 --
port {port}
in {own} of {scratch}

-- script 0755 = {program} --
-- www/ = page.html --
-- {scratch}/root/ --
`

func TestProfileHasAllItSays(t *testing.T) {
	p, err := parseProfile("things", wholeProfile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := profileFiles.ReadFile("profiles/page.html")
	if err != nil {
		t.Fatal(err)
	}
	told := []string{p.Title, p.Program, p.Package, p.Advice, p.Serves, p.Runs, p.Offers, p.Asks}
	texts := []string{
		"server of things", "/usr/sbin/thingd", "things", "build it", "the pages", "a script", "a thing",
		"nothing",
	}
	if diff := cmp.Diff(texts, told); diff != "" || p.Port != 99 {
		t.Errorf("port %d, texts (-want +got)\n%s", p.Port, diff)
	}
	want := Group{
		Peers: []Peer{{
			Command:   []string{"thingd", "-p", "7", "a  b", "-d", "{scratch}/x"},
			Directory: "{scratch}/x/www",
			Env:       []string{"PORT=7", "A=b c"}, User: "daemon", Choices: 2, VirtualClock: true,
		}},
		ReadyTimeout: 2 * time.Minute,
		Binds:        map[string]string{"/etc/things": "{scratch}/x/etc", "/root": "{scratch}/root"},
		Prepare: []Preparation{{
			Path:     "{scratch}/x/data",
			Command:  []string{"sh", "-c", "echo 'it is\nmade'", "{scratch}/x"},
			Programs: []string{"/usr/sbin/thingd"},
		}},
		Files: []File{
			{
				Path:    "{scratch}/x/etc/thingd.conf",
				Content: []byte("port 7\nin {scratch}/x of {scratch}\n\n"),
				Mode:    0o600,
			},
			{Path: "{scratch}/x/www/", Content: page, Mode: 0o644},
			{Path: "{scratch}/root/", Mode: 0o644},
		},
	}
	g, arguments := p.recipe.build("{scratch}/x", "7", nil)
	if diff := cmp.Diff(want, g); diff != "" || !slices.Equal(arguments, []string{"7"}) {
		t.Errorf("without a program: arguments %q, group (-want +got)\n%s", arguments, diff)
	}
	script := File{Path: "{scratch}/x/script", Content: []byte("echo {own}"), Mode: 0o755}
	want.Files = slices.Insert(want.Files, 1, script)
	want.Peers[0].Command = []string{"sh", "{scratch}/x/script"}
	g, arguments = p.recipe.build("{scratch}/x", "7", script.Content)
	if diff := cmp.Diff(want, g); diff != "" || arguments != nil {
		t.Errorf("with a program: arguments %q, group (-want +got)\n%s", arguments, diff)
	}
}

func TestWrongProfiles(t *testing.T) {
	for text, want := range map[string]string{
		"titel: x":                        "titel: there is no such field",
		"title: x\ntitle: y":              "two fields title",
		"title":                           "is no field",
		"  title: x":                      "goes on with nothing",
		"port: x":                         "port: ",
		"behaviours: many":                "behaviours: ",
		"ready timeout: 2":                "ready timeout: ",
		"clock: real":                     `"real" is not virtual`,
		"bind: /root":                     "there is no source",
		"prepare with: x":                 "no field prepare above",
		"command: 'x":                     "does not end",
		"command: `x`y":                   "does not end",
		"-- a = no.such.file --\n":        "no.such.file",
		"host keys: no.such.file":         "no.such.file",
		"client key: no.such.file":        "no.such.file",
		"-- a = page.html --\nand more":   "a source and a content",
		"-- a 0999 --\n":                  `"0999" is no mode`,
		"-- a 4755 --\n":                  `"4755" is no mode`,
		"port: 1\n-- a 0600 b --\n":       "is no mode",
		"environment: A=b\n  'C=d\n  e'f": "does not end",
	} {
		_, err := parseProfile("wrong", text)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "profile wrong: ") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestEveryFileOfProfilesIsUsed: what lies beside the profiles is a source of one of them.
func TestEveryFileOfProfilesIsUsed(t *testing.T) {
	names, err := fs.Glob(profileFiles, "profiles/*")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range Profiles() {
		used[p.Name+".profile"] = true
		for _, source := range slices.Concat(p.recipe.sources, p.recipe.told) {
			used[source] = true
		}
	}
	for _, name := range names {
		if !used[strings.TrimPrefix(name, "profiles/")] {
			t.Errorf("no profile has %s", name)
		}
	}
}

// TestSplitWordsRejoins: however words are quoted and laid out, they are found again.
func TestSplitWordsRejoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune(" \n\tab'`{}=")), 0, 8, -1)).
			Draw(t, "words")
		words = slices.DeleteFunc(
			words,
			func(w string) bool { return strings.Contains(w, "'") && strings.Contains(w, "`") },
		)
		var text strings.Builder
		for _, w := range words {
			text.WriteString(rapid.SampledFrom([]string{" ", "\n", "\t \n"}).Draw(t, "blank"))
			quote := "'"
			if strings.Contains(w, quote) {
				quote = "`"
			}
			if w == "" || strings.ContainsAny(w, " \n\t") || strings.ContainsAny(w[:1], "'`") ||
				rapid.Bool().Draw(t, "quoted") {
				w = quote + w + quote
			}
			text.WriteString(w)
		}
		got, err := splitWords(text.String())
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q: %q, want %q: %v", text.String(), got, words, err)
		}
	})
}

// FuzzProfile: a profile that is wrong is refused, and one that is not can be built.
func FuzzProfile(f *testing.F) {
	f.Add(wholeProfile)
	for _, p := range Profiles() {
		text, err := profileFiles.ReadFile("profiles/" + p.Name + ".profile")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseProfile("fuzz", text)
		if err != nil {
			return
		}
		for _, program := range [][]byte{nil, []byte("x")} {
			g, _ := p.recipe.build("{scratch}/fuzz", "1", program)
			if len(g.Peers) != 1 || len(g.Files) > len(p.recipe.sources) {
				t.Errorf("%d peers, %d files", len(g.Peers), len(g.Files))
			}
		}
	})
}
