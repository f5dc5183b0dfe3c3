package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// TestWhyNot: a killed copy does not say that the memory backend cannot hold the group, which would
// not be tried again; everything unknown does.
func TestWhyNot(t *testing.T) {
	for _, test := range []struct{ err, want error }{
		{fmt.Errorf("copy process 7: %w", tracer.ErrKilled), incarnation.ErrCopyKilled},
		{fmt.Errorf("process 7: %w", wire.ErrNotQuiescent), wire.ErrNotQuiescent},
		{incarnation.Refuse("process 7 has io_uring"), incarnation.ErrRefused},
		{errors.New("anything else"), incarnation.ErrRefused},
	} {
		got := whyNot(test.err)
		kinds := []error{incarnation.ErrCopyKilled, wire.ErrNotQuiescent, incarnation.ErrRefused}
		for _, kind := range kinds {
			if errors.Is(got, kind) != (kind == test.want) {
				t.Errorf("%v became %v, which is %v: %v", test.err, got, kind, errors.Is(got, kind))
			}
		}
	}
}
