package scp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// scripted is a channel on which the server says answers, whatever it is sent.
type scripted struct {
	ssh.Channel
	answers io.Reader
	refuse  bool
	command string
	sent    bytes.Buffer
	ended   bool
}

func (s *scripted) Read(p []byte) (int, error)  { return s.answers.Read(p) }
func (s *scripted) Write(p []byte) (int, error) { return s.sent.Write(p) }

func (s *scripted) CloseWrite() error {
	s.ended = true
	return nil
}

func (s *scripted) SendRequest(name string, wantReply bool, payload []byte) (bool, error) {
	if name != "exec" || !wantReply {
		return false, errors.New("unexpected request " + name)
	}
	var message struct{ Command string }
	err := ssh.Unmarshal(payload, &message)
	s.command = message.Command
	return !s.refuse, err
}

func TestSend(t *testing.T) {
	content := []byte("abc-unsent")
	channel := &scripted{answers: strings.NewReader("\x00\x00\x00")}
	if err := Send(channel, "f.txt", content[:3]); err != nil {
		t.Fatal(err)
	}
	if channel.command != "scp -t f.txt" || channel.sent.String() != "C0644 3 f.txt\nabc\x00" ||
		!channel.ended {
		t.Errorf("command %q, sent %q, ended %v", channel.command, &channel.sent, channel.ended)
	}
	if string(content) != "abc-unsent" {
		t.Errorf("Send wrote into the caller's memory: %q", content)
	}
}

func TestSendErrors(t *testing.T) {
	tests := []struct {
		name, answers string
		refuse        bool
		want          string
	}{
		{"exec refused", "", true, "the server refused to start scp"},
		{"silence", "", false, "no acknowledgement of the start: unexpected EOF"},
		{"header refused", "\x00\x02scp: no space\n", false, "the server refused the header: scp: no space"},
		{"warning", "\x00\x00\x01times\n", false, "the server refused the content: times"},
		{"text breaks off", "\x00\x02scp: n", false,
			`the server refused the header, with a text that breaks off: "scp: n"`},
		{"no acknowledgement at all", "\x00Welcome", false,
			"acknowledgement of the header: byte 87, want 0, 1 or 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			channel := &scripted{answers: strings.NewReader(test.answers), refuse: test.refuse}
			err := Send(channel, "f.txt", []byte("abc"))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if channel.ended {
				t.Error("the end was announced although the copy failed")
			}
		})
	}
}

func TestAcknowledgementsAreReadOneByOne(t *testing.T) {
	answers := bufio.NewReader(strings.NewReader("\x00\x00"))
	for _, phase := range []string{"first", "second"} {
		if err := awaitAck(answers, phase); err != nil {
			t.Error(err)
		}
	}
	if err := awaitAck(answers, "third"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func TestConfigAcceptsOnlyTheExampleHostKey(t *testing.T) {
	config, err := clientConfig()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(userKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.HostKeyCallback("", nil, signer.PublicKey()); err == nil {
		t.Error("another key passes for the host key")
	}
}
