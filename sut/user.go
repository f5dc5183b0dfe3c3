package sut

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// UserToolchain is NewToolchain with the copy in the user's cache directory, where all commands of
// Tandem look for it.
func UserToolchain(ctx context.Context, dir string) (*Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("where to keep the patched Go distribution: %w", err)
	}
	return NewToolchain(ctx, dir, filepath.Join(cache, "tandem"))
}
