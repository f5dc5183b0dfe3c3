package driver

import "testing"

// TestLostSpill: what was put on disk and is not there any more is an error, and not other bytes.
func TestLostSpill(t *testing.T) {
	s := &spillFile{}
	first, err := s.Append([]byte("an answer"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	second, err := s.Append([]byte("another"))
	if err != nil || second != first+int64(len("an answer")) {
		t.Fatalf("the second is at %d, the first at %d: %v", second, first, err)
	}
	data := make([]byte, len("another"))
	if _, err := s.ReadAt(data, second); err != nil || string(data) != "another" {
		t.Fatalf("%q, %v", data, err)
	}
	if err := s.file.Truncate(second + 1); err != nil {
		t.Fatal(err)
	}
	if n, err := s.ReadAt(data, second); err == nil {
		t.Errorf("%d bytes were read of what is lost", n)
	}
}
