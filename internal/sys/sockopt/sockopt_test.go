package sockopt

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOptions: an option that is set is got, and one that there is not is an error.
func TestOptions(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	want := binary.NativeEndian.AppendUint32(nil, 1)
	if err := Set(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Get(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
	if got, err := GetSized(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, 3); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
	if err := Set(fd, unix.SOL_SOCKET, 9999, nil); err == nil {
		t.Error("an option that there is not was set")
	}
	if filtered, err := HasFilter(fd); err != nil || filtered {
		t.Errorf("a new socket has a filter: %t, %v", filtered, err)
	}
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 1}}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: 1, Filter: &program[0]}); err != nil {
		t.Fatal(err)
	}
	if filtered, err := HasFilter(fd); err != nil || !filtered {
		t.Errorf("a filter is not seen: %v", err)
	}
}
