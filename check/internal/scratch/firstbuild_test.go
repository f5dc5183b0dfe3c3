package scratch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestFirstBuild: the first build with a release of Go says why it takes long. For the next one
// that is known to be done.
func TestFirstBuild(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	say := func(format string, a ...any) {
		told = append(told, fmt.Sprintf(format, a...))
		if len(told) == 2 {
			cancel() // the minute is left out
		}
	}
	o := sut.BuildOptions{Dir: ".", Package: "../../../examples/gallery"}
	_, _, err := BuildTold(ctx, o, say, "building x")
	if err == nil || len(told) != 2 || told[0] != "building x" ||
		!strings.HasPrefix(told[1], "this is the first check with go1.") {
		t.Errorf("%q, %v", told, err)
	}
	if next, err := sut.UserToolchain(t.Context(), "."); err != nil || next.Fresh {
		t.Errorf("%+v, %v", next, err)
	}
}
