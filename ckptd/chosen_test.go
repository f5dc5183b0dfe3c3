package ckptd

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// keyExchange is what a client sends in the first half of a key exchange of SSH, the same
// every time: its version with KEXINIT, and the public key of a Diffie-Hellman exchange on
// Curve25519 (RFC 4253, sections 7 and 8; RFC 8731).
func keyExchange() [2]string {
	lists := []string{
		"curve25519-sha256", "ssh-ed25519", "aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256",
		"none", "none", "", "",
	}
	kexinit := append([]byte{20}, make([]byte, 16)...)
	for _, l := range lists {
		kexinit = append(binary.BigEndian.AppendUint32(kexinit, uint32(len(l))), l...)
	}
	kexinit = append(kexinit, 0, 0, 0, 0, 0)
	public := append([]byte{30, 0, 0, 0, 32, 9}, make([]byte, 31)...) // the base point
	return [2]string{"SSH-2.0-x\r\n" + packet(kexinit), packet(public)}
}

// packet is the binary packet of RFC 4253, section 6.
func packet(payload []byte) string {
	padding := 16 - (len(payload)+5)%16
	if padding < 4 {
		padding += 16
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	b = append(append(b, byte(padding)), payload...)
	return string(append(b, make([]byte, padding)...))
}

// exchangeKeys does the first half of a key exchange and returns what Dropbear answers.
func exchangeKeys(t *testing.T, g *Group) (answers []string) {
	t.Helper()
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(testContext(t), 1, dropbearAddress); err != nil {
		t.Fatal(err)
	}
	answers = append(answers, talk.listen())
	for _, request := range keyExchange() {
		answers = append(answers, talk.ask(request))
	}
	return answers
}

// TestChosenKeyExchanges: each of eight behaviours of Dropbear makes its own key exchange, and
// the same one whenever it is started, and whenever it has gone back.
func TestChosenKeyExchanges(t *testing.T) {
	all := 3
	if *deep {
		all = 8
	}
	seen := map[string]bool{}
	bothBackends(t, func(t *testing.T, c *Client) { chosenKeyExchanges(t, c, all, seen) })
	if len(seen) != all {
		t.Errorf("%d behaviours make %d key exchanges, by whichever backend Dropbear goes back", all,
			len(seen))
	}
}

func chosenKeyExchanges(t *testing.T, c *Client, behaviours int, seen map[string]bool) {
	group := dropbear(t)
	group.Peers[0].Choices = behaviours
	for behaviour := range behaviours {
		var want string
		for range 2 {
			g := start(t, c, group.Behaving(behaviour))
			image, err := g.Checkpoint(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				answers := exchangeKeys(t, g)
				got := fmt.Sprintf("%q", answers)
				if want == "" {
					want = got
				}
				if got != want || len(answers[2]) < 100 || !strings.HasPrefix(answers[0],
					"SSH-2.0-dropbear") {
					t.Fatalf("behaviour %d: %s\nbefore: %s", behaviour, got, want)
				}
				if err := g.Restore(testContext(t), image.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		seen[want] = true
		t.Logf("behaviour %d: %x", behaviour, sha256.Sum256([]byte(want)))
	}
}

// TestChosenTime: the answers of a server that tells the time are the same after a restart.
func TestChosenTime(t *testing.T) {
	c := spawn(t, Options{})
	group := merecat()
	group.Peers[0].Choices, group.Start = 1, time.Date(2031, time.May, 6, 7, 8, 9, 0, time.UTC)
	var want string
	for range 3 {
		g := start(t, c, group)
		talk := &conversation{t: t, group: g, id: 1}
		talk.obtain()
		if err := g.Proxy().Connect(testContext(t), 1, merecatAddress); err != nil {
			t.Fatal(err)
		}
		talk.listen()
		got := talk.ask(get("/a.txt"))
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "\nDate: Tue, 06 May 2031 07:08:09 GMT") ||
			!strings.Contains(got, "\nLast-Modified: Wed, 01 Jan 2025 00:00:00 GMT") {
			t.Errorf("%q\nbefore: %q", got, want)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChosenStaticServer: what a Go program without the C library reads is chosen, too.
func TestChosenStaticServer(t *testing.T) { bothBackends(t, chosenStaticServer) }

func chosenStaticServer(t *testing.T, c *Client) {
	const behaviours = 2
	group := alphabetServer(t)
	group.Peers[0].Choices = behaviours
	seen := map[string]bool{}
	for behaviour := range behaviours {
		want := ""
		for range 2 {
			g := start(t, c, group.Behaving(behaviour))
			counted(t, g) // all are instrumented
			talk := &conversation{t: t, group: g, id: 1}
			talk.obtain()
			if err := g.Proxy().Connect(testContext(t), 1,
				netip.MustParseAddrPort("127.0.0.1:7000")); err != nil {
				t.Fatal(err)
			}
			talk.listen()
			first := talk.ask(strings.Repeat("1\n", 20))
			image, err := g.Checkpoint(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got := first + talk.ask(strings.Repeat("2\n", 20))
				if want == "" {
					want = got
				}
				if got != want || len(got) != 80 {
					t.Fatalf("behaviour %d: %q, before: %q", behaviour, got, want)
				}
				if err := g.Restore(testContext(t), image.ID); err != nil {
					t.Fatal(err)
				}
				talk.obtain()
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		seen[want] = true
	}
	if len(seen) != behaviours {
		t.Errorf("%d behaviours answer in %d ways", behaviours, len(seen))
	}
}

// beOracle answers a line with all that differs from run to run, whichever way it asks.
func beOracle(listener net.Listener) {
	c := must1(listener.Accept())
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var random, device [8]byte
		must1(rand.Read(random[:]))
		f := must1(os.Open("/dev/urandom"))
		must1(f.Read(device[:]))
		must(f.Close())
		_, _, errno := unix.Syscall(unix.SYS_GETRANDOM, bytesPointer(random[:]), 1, 0)
		fmt.Fprintf(c, "%d %x %x %v\n", time.Now().UnixNano(), random, device, errno)
	}
}

// TestChosenGoProgram asks for the time and for random numbers in all ways that there are.
func TestChosenGoProgram(t *testing.T) {
	c := spawn(t, Options{})
	group := ownPeer("oracle")
	group.Peers[0].Choices, group.Start = 2, time.Unix(1935817689, 0)
	var answers [2]string
	for n := range 4 {
		g := start(t, c, group.Behaving(n%2))
		counted(t, g) // all are instrumented
		talk := &conversation{t: t, group: g, id: 1}
		talk.obtain()
		if err := g.Proxy().Connect(testContext(t), 1, sinkAddress); err != nil {
			t.Fatal(err)
		}
		talk.listen()
		got := talk.ask("1\n") + talk.ask("2\n")
		if n >= 2 && got != answers[n%2] {
			t.Errorf("behaviour %d, started anew, answers %q, before %q", n%2, got, answers[n%2])
		}
		answers[n%2] = got
		lines := strings.Split(got, "\n")
		const start = "1935817689"
		if !strings.HasPrefix(got, start+"0") || len(lines) != 3 || lines[0] == lines[1] ||
			!strings.Contains(got, "function not implemented") {
			t.Errorf("the time, a random number, bytes of a random device, and an error of getrandom are %q",
				got)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if answers[0] == answers[1] {
		t.Errorf("both behaviours answer %q", answers[0])
	}
}

// TestChosenProcesses: each program that a peer executes reads random numbers of its own, and
// who asks the kernel itself is sent to the device.
func TestChosenProcesses(t *testing.T) {
	const source = `#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { char c; syscall(SYS_getrandom, &c, 1, 0); perror("getrandom"); return 0; }`
	program := filepath.Join(t.TempDir(), "asks")
	cc := exec.Command("cc", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader(source)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := spawn(t, Options{})
	group := shell(
		"head -c 8 /dev/urandom | od -x >a; head -c 8 /dev/urandom | od -x >b; {scratch}/asks 2>c; date " +
			"+%s >d" + forever)
	group.Files = append(group.Files, peers.File{Path: "asks", Content: testkit.ReadFile(t, program),
		Mode: 0o755})
	group.Peers[0].Choices = 1
	var before string
	for range 2 {
		g := start(t, c, group)
		counted(t, g)
		var all []string
		for _, name := range []string{"a", "b", "c", "d"} {
			all = append(all, string(testkit.ReadFile(t, inside(g, "/run/tandem/"+name))))
		}
		got := strings.Join(all, "")
		if all[0] == all[1] || all[2] != "getrandom: Function not implemented\n" ||
			all[3] != fmt.Sprintln(peers.DefaultStart) || before != "" && got != before {
			t.Errorf("two programs have read, and one has asked the kernel:\n%sbefore:\n%s", got, before)
		}
		before = got
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
