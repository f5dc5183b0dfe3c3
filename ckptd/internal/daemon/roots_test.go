package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShimNeedsTheLibrary: the shim is preloaded only where the C library has all versions of
// symbols that it needs.
func TestShimNeedsTheLibrary(t *testing.T) {
	s := shimFiles{versions: []string{"GLIBC_2.2.5", "GLIBC_2.34"}}
	for content, want := range map[string]bool{
		"GLIBC_2.2.5\x00GLIBC_2.3.4\x00GLIBC_2.34\x00GLIBC_PRIVATE\x00": true,
		"GLIBC_2.2.5\x00GLIBC_2.3.4\x00":                                false,
		"musl libc (x86_64)\x00":                                        false,
	} {
		library := filepath.Join(t.TempDir(), "libc.so.6")
		if err := os.WriteFile(library, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.loads(library); got != want {
			t.Errorf("with a library that holds %q: %t, want %t", content, got, want)
		}
	}
	if s.loads("") {
		t.Error("an image without a C library is to load the shim")
	}
}
