package process

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestPipes: commands and answers arrive one by one, and the end of the process is told.
func TestPipes(t *testing.T) {
	var p pipes
	commands, answers, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	defer commands.Close()
	go func() {
		for {
			command, err := readByte(commands)
			if err != nil || command == 'q' {
				answers.Close()
				return
			}
			writeByte(answers, command+1)
		}
	}()
	for _, command := range []byte("abc") {
		if err := p.Send(command); err != nil {
			t.Fatal(err)
		}
		if err := p.Expect(command + 1); err != nil {
			t.Error(err)
		}
	}
	if err := p.Send('x'); err != nil {
		t.Fatal(err)
	}
	if err := p.Expect('z'); err == nil || !strings.Contains(err.Error(), "'y' instead of 'z'") {
		t.Errorf("another answer than expected: %v", err)
	}
	if err := p.Send('q'); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Receive(); !errors.Is(err, ErrGone) || !p.ended() {
		t.Errorf("after the end: %v", err)
	}
	commands.Close()
	if err := p.Send('x'); err == nil {
		t.Error("a command is sent to nobody")
	}
}

func TestOutputIsTaken(t *testing.T) {
	f, err := outputFile()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, text := range []string{"first", "", "second"} {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got, err := takeOutput(f); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}

func TestStandardInput(t *testing.T) {
	for _, text := range []string{"", "some input"} {
		f, err := standardInput([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if n, _ := f.ReadAt(b, 0); string(b[:n]) != text || (text == "") != (f.Name() == os.DevNull) {
			t.Errorf("%q in %s, want %q", b[:n], f.Name(), text)
		}
		f.Close()
	}
}

func TestAbridged(t *testing.T) {
	long := strings.Repeat("a", 1000) + strings.Repeat("b", 2000)
	for text, want := range map[string]string{
		"": "", "short": ": short", long: ": " + long[:600] + "\n...\n" + long[1400:],
	} {
		if got := abridged([]byte(text)); got != want {
			t.Errorf("%d bytes become %q", len(text), got)
		}
	}
}
