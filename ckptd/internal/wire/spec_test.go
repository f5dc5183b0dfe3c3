package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit/garble"
	"github.com/tandem-mc/tandem/peers"
)

// goodSpec is a description with three files, of which one is empty and one looks like JSON.
func goodSpec(t testing.TB) []byte {
	g := sampleGroup()
	g.Files = []peers.File{{Path: "a", Content: []byte("a\nb")}, {Path: "b"},
		{Path: "c", Content: []byte(`{"Sizes": [1]}`)}}
	pieces, err := EncodeSpec(g)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(pieces...)
}

func TestSpecsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := sampleGroup()
		g.Files = nil
		for i, content := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 4).Draw(t, "contents") {
			g.Files = append(g.Files, peers.File{Path: strings.Repeat("x", i+1), Content: content,
				Mode: 0o600})
		}
		pieces, err := EncodeSpec(g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeSpec(slices.Concat(pieces...))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(g, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("it has become another one:\n%s", d)
		}
	})
}

func TestMalformedSpecs(t *testing.T) {
	good := goodSpec(t)
	for n := range len(good) {
		if _, err := decodeSpec(good[:n]); !errors.Is(err, ErrInvalid) {
			t.Fatalf("cut off after %d of %d bytes: %v", n, len(good), err)
		}
	}
	for old, change := range map[string]string{"[3,0,14]": "[3,0,15]", "3,0,14": "3,1,14", "3,0": "3,-1",
		"0,14": "14", "\n": " \n", "a\nb": "a\nbc"} {
		if _, err := decodeSpec(bytes.Replace(good, []byte(old), []byte(change), 1)); !errors.Is(err,
			ErrInvalid) {
			t.Errorf("%q instead of %q: %v", change, old, err)
		}
	}
}

// TestGarbledSpecs: see garble.Run, and FuzzDecodeSpec.
func TestGarbledSpecs(t *testing.T) {
	garble.Run(t, [][]byte{goodSpec(t)}, 8<<10, trySpec)
}

func FuzzDecodeSpec(f *testing.F) {
	f.Add(goodSpec(f))
	f.Fuzz(func(t *testing.T, b []byte) { trySpec(t, b) })
}

// trySpec decodes what may be anything: it is refused, or its contents are what is there.
func trySpec(t testing.TB, b []byte) {
	g, err := decodeSpec(b)
	if err != nil {
		if !errors.Is(err, ErrInvalid) {
			t.Fatalf("%q: %v", b, err)
		}
		return
	}
	var contents []byte
	for _, f := range g.Files {
		contents = append(contents, f.Content...)
	}
	if !bytes.HasSuffix(b, append([]byte("\n"), contents...)) {
		t.Fatalf("%q has the contents %q", b, contents)
	}
}

// sampleGroup has a bit of everything.
func sampleGroup() peers.Group {
	return peers.Group{
		Peers: []peers.Peer{{Name: "web", Command: []string{"merecat", "-n"}, Listen: "127.0.0.1:80",
			Directory: "/run/peers/web"}},
		Files: []peers.File{
			{Path: "web/index.html", Content: []byte("hello"), Mode: 0o644}, {Path: "web/empty", Mode: 0o600},
		},
	}
}
