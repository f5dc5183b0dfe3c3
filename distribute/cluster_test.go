package distribute

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/natsd"
)

// freePorts are ports that nobody uses.
func freePorts(t *testing.T, n int) (list []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list
}

// run starts a server in this process, which ends with the test.
func run(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoLog, o.NoSigs, o.JetStream, o.StoreDir = "127.0.0.1", true, true, true, t.TempDir()
	o.JetStreamMaxStore = 8 << 30
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not begin to listen")
	}
	return s
}

// trio are the options of the three servers of a cluster, and the URL that names all of them.
func trio(t *testing.T) (list []*server.Options, all string) {
	t.Helper()
	var routes []*url.URL
	var urls []string
	ports := freePorts(t, 6)
	for i := range 3 {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprint("127.0.0.1:", ports[i])})
		urls = append(urls, fmt.Sprint("nats://127.0.0.1:", ports[3+i]))
	}
	for i := range 3 {
		list = append(list, &server.Options{ServerName: fmt.Sprint("n", i), Port: ports[3+i], Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}})
	}
	return list, strings.Join(urls, ",")
}

// runAll starts servers, at the same time: each waits for others. They are returned by their names.
func runAll(t *testing.T, list []*server.Options) map[string]*server.Server {
	t.Helper()
	servers := map[string]*server.Server{}
	var busy sync.WaitGroup
	var mu sync.Mutex
	for _, o := range list {
		busy.Go(func() {
			s := run(t, o)
			mu.Lock()
			defer mu.Unlock()
			servers[s.Name()] = s
		})
	}
	busy.Wait()
	return servers
}

// TestCluster: of three servers the one may end that the check is connected to. Everything is kept
// on all three.
func TestCluster(t *testing.T) {
	t.Parallel()
	options, all := trio(t)
	servers := runAll(t, options)
	var busy sync.WaitGroup
	testkit.Await(t, "the cluster has all servers", func() bool {
		peers := 0
		for _, s := range servers {
			if s.JetStreamIsLeader() {
				peers = len(s.JetStreamClusterPeers())
			}
		}
		return peers == 3
	})
	l := mustLead(t, Options{URL: all})
	info, err := l.parts.Info(t.Context())
	if err != nil || info.Config.Replicas != 3 {
		t.Fatalf("parts are kept on %+v, %v", info, err)
	}
	half := make(chan struct{})
	var parts atomic.Int32
	c := recruit(t, all, 2, func([]byte, func() bool) {
		if parts.Add(1) == 10 {
			close(half)
		}
	})
	c.await(l, 2)
	busy.Go(func() { explores(t, l, 30, 2) })
	<-half
	servers[l.nats.ConnectedServerName()].Shutdown()
	busy.Wait()
}

// TestClusterBegins: workers and those who ask for the status may come before the servers of a
// cluster have found each other. What they ask then is never answered, so they ask again.
func TestClusterBegins(t *testing.T) {
	t.Parallel()
	options, all := trio(t)
	first := run(t, options[0])
	c := recruit(t, all, 2, nil)
	asked := make(chan error, 1)
	go func() {
		_, err := StatusOf(t.Context(), Options{URL: all})
		asked <- err
	}()
	testkit.Await(t, "all are connected to the server that is there", func() bool {
		return first.NumClients() == 3
	})
	runAll(t, options[1:])
	if err := <-asked; err != nil {
		t.Errorf("the status: %v", err)
	}
	l := mustLead(t, Options{URL: all})
	c.await(l, 2)
	explores(t, l, 4, 1)
}

// TestUnsettled: what may go by itself is told from what will not.
func TestUnsettled(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("asking: %w", context.DeadlineExceeded): true,
		&jetstream.APIError{ErrorCode: noPeers}:            true,
		&jetstream.APIError{ErrorCode: notAvailable}:       true,
		jetstream.ErrJetStreamNotEnabled:                   false,
		nats.ErrNoResponders:                               false,
	} {
		if isUnsettled(err) != want {
			t.Errorf("%v: it may go by itself: %t, want %t", err, !want, want)
		}
		calls, wrong := 0, err
		err := agreed(t.Context(), func(context.Context) error {
			if calls++; calls == 2 {
				return nil
			}
			return wrong
		})
		if (err == nil) != want {
			t.Errorf("%v: after %d calls: %v", wrong, calls, err)
		}
	}
}

// certificates writes the certificate of an authority, and one by it with its key.
func certificates(t *testing.T) Login {
	t.Helper()
	dir := t.TempDir()
	l := Login{CA: filepath.Join(dir, "ca"), Certificate: filepath.Join(dir, "cert"),
		Key: filepath.Join(dir, "key")}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	key := writeCertificate(t, l.CA, "", authority, authority, nil)
	writeCertificate(t, l.Certificate, l.Key, own, authority, key)
	return l
}

// writeCertificate writes a certificate that is signed with a key, or with its own, and its key to
// files.
func writeCertificate(t *testing.T, file, keyFile string, c, parent *x509.Certificate,
	by *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, data []byte) {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "CERTIFICATE", der)
	if keyFile != "" {
		private, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(keyFile, "EC PRIVATE KEY", private)
	}
	return key
}

// TestLogin: who is let in is, over TLS too, and who is not is told what to give.
func TestLogin(t *testing.T) {
	t.Parallel()
	tls := certificates(t)
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := user.Seed()
	public, _ := user.PublicKey()
	nkey := Login{NKey: filepath.Join(t.TempDir(), "seed")}
	if err := os.WriteFile(nkey.NKey, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	port := server.RANDOM_PORT
	password := run(t, &server.Options{Port: port, Username: "u", Password: "secret"}).ClientURL()
	keys := run(t, &server.Options{Port: port, Nkeys: []*server.NkeyUser{{Nkey: public}}}).ClientURL()
	own, err := lead(t, Options{URL: Embedded, Login: tls}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for _, c := range []struct {
		url   string
		login Login
		want  string // of the error
	}{
		{password, Login{}, "--nats-creds"},
		{strings.Replace(password, "//", "//u:secret@", 1), Login{}, ""},
		{strings.Replace(password, "//", "//u:other@", 1), Login{}, "does not let this tandem in"},
		{keys, Login{}, "--nats-nkey"},
		{keys, nkey, ""},
		{own.URL(), tls, ""},
		{own.URL(), Login{}, "--nats-ca"},
		{own.URL(), Login{CA: tls.CA}, "--nats-cert"},
		{"nats://127.0.0.1:1", Login{}, "nobody answers there"},
		{"nats://127.0.0.1:1", Login{Credentials: "/no/such"}, "no such file"},
	} {
		_, err := StatusOf(t.Context(), Options{URL: c.url, Login: c.login})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v, want %q", c.url, c.login, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// TestCertificateWanted: a server that wants a certificate may be heard to say so, or only be gone.
func TestCertificateWanted(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
		fmt.Errorf("%w: connection closed by remote after TLS handshake: %w", nats.ErrTLS, io.EOF),
		fmt.Errorf("%w: %w", nats.ErrTLS, &net.OpError{Op: "write", Err: unix.EPIPE}),
		fmt.Errorf("%w: %w", nats.ErrTLS, &net.OpError{Op: "read", Err: unix.ECONNRESET}),
	} {
		if got := explained(err); !strings.Contains(got.Error(), "--nats-cert") || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if got := explained(io.EOF); got != io.EOF {
		t.Errorf("without TLS: %v", got)
	}
}

// TestServerGoesAtTheBeginning: what a leader begins with is done again if the server goes away
// meanwhile, and not if something else is wrong.
func TestServerGoesAtTheBeginning(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	l, err := lead(t, Options{URL: s.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	calls, since := 0, l.since.Load()
	if err := l.persist(func() error {
		if calls++; calls == 1 {
			s.Kill()
			s.Restart()
			testkit.Await(t, "the connection is made again", func() bool { return l.since.Load() > since })
			return errors.New("no answer")
		}
		return l.prepare()
	}); err != nil || calls < 2 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	calls = 0
	wrong := errors.New("another check leads there")
	if err := l.persist(func() error { calls++; return wrong }); !errors.Is(err, wrong) || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// TestServerComes: who connects while the server is away for a moment waits for it.
func TestServerComes(t *testing.T) {
	t.Parallel()
	s := natsd.Start(t, t.TempDir())
	s.Kill()
	connected := make(chan error, 1)
	go func() {
		_, err := StatusOf(t.Context(), Options{URL: s.URL})
		connected <- err
	}()
	s.Restart()
	if err := <-connected; err != nil {
		t.Error(err)
	}
	for err, want := range map[error]bool{nats.ErrNoServers: true, io.EOF: true, unix.ECONNRESET: true,
		nats.ErrAuthorization: false, fmt.Errorf("%w: %w", nats.ErrTLS, io.EOF): false} {
		if isAway(err) != want {
			t.Errorf("%v: away is %t", err, !want)
		}
	}
}
