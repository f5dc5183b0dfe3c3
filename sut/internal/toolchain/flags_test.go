package toolchain

import (
	"slices"
	"testing"
)

// TestTags: tags that are asked for take the place of those of GOFLAGS, and that of the race
// detector comes to them.
func TestTags(t *testing.T) {
	races := []string{RacesMain}
	for _, c := range []struct {
		goFlags string
		options BuildOptions
		want    []string
	}{
		{"", BuildOptions{}, nil},
		{"", BuildOptions{Races: races}, []string{"-tags=race"}},
		{"-mod=mod -tags=a,b", BuildOptions{Races: races}, []string{"-tags=a,b,race"}},
		{"--tags=a -trimpath -tags=b", BuildOptions{}, []string{"-tags=b"}},
		{"'-tags=a'", BuildOptions{}, []string{"-tags=a"}},
		{"-tags=a", BuildOptions{Tags: []string{"c", "d"}, Races: races}, []string{"-tags=c,d,race"}},
		{"-ldflags=-X=main.tags=a", BuildOptions{}, nil},
	} {
		toolchain := &Toolchain{goFlags: c.goFlags}
		if got := toolchain.tags(c.options); !slices.Equal(got, c.want) {
			t.Errorf("GOFLAGS %q, %+v: %q, want %q", c.goFlags, c.options, got, c.want)
		}
	}
}
