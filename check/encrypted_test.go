package check

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// TestEncryptedReplays runs four SSH sessions at once, and HTTPS clients, against real servers
// under random schedules, and each schedule twenty times more: all events and every byte that is
// sent must be the same.
func TestEncryptedReplays(t *testing.T) {
	schedules, repetitions := cases(4, 2), cases(20, 8)
	p, err := buildProgram("testdata/encrypted", filepath.Join(tree, "encrypted"))
	if err != nil {
		t.Fatal(err)
	}
	https, certificate := httpsGroup(t)
	for scenario, group := range map[string]*peers.Group{"ssh": scpTo.options(t).Group, "http/1.1": https,
		"http/2": https} {
		t.Run(scenario, func(t *testing.T) {
			o := Options{
				Program: p, Package: "encrypted", Args: []string{scenario},
				Env:         []string{"CERTIFICATE=" + certificate},
				Search:      dporSearch(),
				PeerOptions: PeerOptions{Strategy: strategy.Never{}, Group: group, Client: newClient(t)},
			}
			for seed := range uint64(schedules) {
				replayBytes(t, o, sut.Schedule{Seed: seed + 1}, repetitions)
			}
		})
	}
}

// replayBytes runs a schedule against peers that have just been started, and then again and again
// with their answers.
func replayBytes(t *testing.T, o Options, s sut.Schedule, repetitions int) {
	t.Helper()
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.executor.Close()
	defer r.peers.Close()
	var exchanges []driver.Exchange
	r.executor.Session().Watch(func(x driver.Exchange) { exchanges = append(exchanges, x) })
	log := runOnce(t, r, s)
	if log.Outcome != sut.Completed {
		t.Fatalf("schedule %d: %v: %s%s", s.Seed, log.Outcome, log.Stderr, log.Message)
	}
	first, want, misses := executor.Keep(log), exchanges, r.executor.Session().Counts.Misses
	for i := range repetitions {
		exchanges = nil
		log := runOnce(t, r, s)
		if at := narrate.FirstDifference(first.Events, log.Events); at >= 0 || log.Outcome != sut.Completed {
			t.Fatalf("schedule %d, repetition %d: %v, another log from event %d on%s", s.Seed, i, log.Outcome,
				at, narrate.EventPlace(r.options.Program, log.Events, at))
		}
		if diff := cmp.Diff(inputs(want), inputs(exchanges)); diff != "" ||
			r.executor.Session().Counts.Misses != misses {
			t.Fatalf("schedule %d, repetition %d: other bytes were sent:\n%s", s.Seed, i, diff)
		}
	}
	sent := 0
	for _, x := range want {
		sent += len(x.Input.Data)
	}
	t.Logf("schedule %d: %d events, %d inputs with %d bytes, %d times the same", s.Seed, len(first.Events),
		len(want), sent, repetitions)
}

func inputs(exchanges []driver.Exchange) []model.Input {
	var list []model.Input
	for _, x := range exchanges {
		list = append(list, x.Input)
	}
	return list
}

// httpsGroup is a server with a certificate of its own.
func httpsGroup(t *testing.T) (g *peers.Group, certificate string) {
	t.Helper()
	server := filepath.Join(t.TempDir(), "https-server")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", server, "./testdata/encrypted/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary, err := os.ReadFile(server)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := newCertificate(t)
	return &peers.Group{
		Peers: []peers.Peer{{Name: "https", Command: []string{"{scratch}/server"}, Listen: "127.0.0.1:8443"}},
		Files: []peers.File{
			{Path: "{scratch}/server", Content: binary, Mode: 0o755},
			{Path: "{scratch}/cert.pem", Content: cert},
			{Path: "{scratch}/key.pem", Content: key, Mode: 0o600},
		},
	}, string(cert)
}

// newCertificate makes a certificate that is valid in both times: the real one of the server, and
// the virtual one of the program.
func newCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2049, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}
