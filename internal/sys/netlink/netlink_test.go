package netlink

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAttributes(t *testing.T) {
	if got, want := Attribute(3, []byte("name\x00")),
		[]byte("\x09\x00\x03\x00name\x00\x00\x00\x00"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Nested(1, Attribute(2, []byte("data"))),
		[]byte("\x0c\x00\x01\x80\x08\x00\x02\x00data"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := AppendAttribute([]byte("x"), 1, nil); string(got) != "x\x04\x00\x01\x00" {
		t.Errorf("%q", got)
	}
}

// TestRefusal: what the kernel answers to a request that is none is the error.
func TestRefusal(t *testing.T) {
	var errno unix.Errno
	if err := Route(unix.RTM_NEWROUTE, 0, []byte{unix.AF_INET}); !errors.As(err, &errno) {
		t.Errorf("half a route: %v", err)
	}
}
