package ckptd

import (
	"net/netip"
	"os"
	"testing"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// BenchmarkServers measures what images in memory take of servers with shared memory: PostgreSQL,
// with a process for each connection, and MariaDB, with many threads, each with two connections.
func BenchmarkServers(b *testing.B) {
	for name, group := range map[string]peers.Group{"postgres": postgres(), "mariadb": mariadb()} {
		if _, err := os.Stat(group.Peers[0].Command[3]); err != nil {
			continue
		}
		c := spawn(b, Options{Backend: BackendMemory, MaxBytes: 256 << 20})
		g := start(b, c, group)
		address := netip.MustParseAddrPort(group.Peers[0].Listen)
		for id := range proxy.ID(2) {
			talk := &conversation{t: b, group: g, id: 1 + id}
			talk.obtain()
			if err := g.Proxy().Connect(testContext(b), talk.id, address); err != nil {
				b.Fatal(err)
			}
			talk.listen()
		}
		if err := g.Quiesce(testContext(b), nil); err != nil {
			b.Fatal(err)
		}
		image := savedGroup(b, g)
		b.Run(name+"/save", func(b *testing.B) {
			for b.Loop() {
				if _, err := g.Checkpoint(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		image = savedGroup(b, g)
		b.Run(name+"/restore", func(b *testing.B) {
			for b.Loop() {
				if err := g.Restore(b.Context(), image); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// postgres is a small one, which refuses to run as root.
func postgres() peers.Group {
	const script = `"$1/initdb" -D data -A trust --no-sync --wal-segsize=1 >/dev/null
exec "$0" -D data -p 5432 -h 127.0.0.1 -k "$PWD" -c shared_buffers=1MB -c fsync=off \
	-c autovacuum=off -c max_connections=10 \
	-c max_logical_replication_workers=0 -c dynamic_shared_memory_type=mmap -c min_dynamic_shared_memory=0`
	const directory = "/usr/lib/postgresql/15/bin"
	return peers.Group{
		Peers: []peers.Peer{{
			Name: "postgres", User: "postgres", Listen: "127.0.0.1:5432",
			Command: []string{"sh", "-ec", script, directory + "/postgres", directory},
		}},
		ReadyTimeout: 60e9,
	}
}

// mariadb is a small one.
func mariadb() peers.Group {
	const script = `mkdir data; mariadb-install-db --no-defaults --user=root --datadir="$PWD/data" \
	--auth-root-authentication-method=normal --skip-test-db >/dev/null
exec "$0" --no-defaults --user=root --datadir="$PWD/data" --socket="$PWD/s" \
	--bind-address=127.0.0.1 --port=3306 --innodb-use-native-aio=0 \
	--innodb-log-file-size=4M --innodb-buffer-pool-size=8M --innodb-data-file-path=ibdata1:10M:autoextend \
	--performance-schema=0 \
	--key-buffer-size=64k --aria-pagecache-buffer-size=128k --pid-file="$PWD/pid" --connect-timeout=10000`
	return peers.Group{
		Peers: []peers.Peer{{Name: "mariadb", Listen: "127.0.0.1:3306",
			Command: []string{"sh", "-ec", script, "/usr/sbin/mariadbd"}}},
		Files:        []peers.File{{Path: "tmp/keep"}},
		Binds:        map[string]string{"/tmp": "{scratch}/tmp"},
		ReadyTimeout: 60e9,
	}
}
