package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestMalformedFilesInMemory: what comes in a file in memory is bounded, and may be
// anything.
func TestMalformedFilesInMemory(t *testing.T) {
	before := testkit.OpenFiles(t)
	for _, content := range []any{"text", 7, []int{1}, map[string]any{"Peers": 3}, nil,
		map[string]any{"Peers": []any{map[string]any{"Name": "x"}}}} {
		text, err := json.Marshal(map[string]any{"Group": content})
		if err != nil {
			t.Fatal(err)
		}
		fd, err := sys.MemoryFile("tandem group", text, []byte("\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSpec(fd); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v is taken for a group: %v", content, err)
		}
		unix.Close(fd)
	}
	fd, err := MemoryJSON("")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, maxSpec+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSpec(fd); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "it is over") {
		t.Errorf("a description that is too long: %v", err)
	}
	if err := ReadStatus([]int{fd}, &Status{}); err == nil {
		t.Error("a status of zeros was read")
	}
	if err := ReadStatus(nil, &Status{}); err == nil {
		t.Error("a status without a file was read")
	}
	if after := testkit.OpenFiles(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}
