package peers

import "time"

// Profiles of databases.

// newestPostgres finds the programs of the newest release of PostgreSQL that is installed.
const newestPostgres = `"$(ls -d "$0"/*/bin | sort -V | tail -n 1)"`

const postgresReleases = "/usr/lib/postgresql"

// makePostgres makes a cluster, and in it, without a server, the database test. PostgreSQL refuses root.
const makePostgres = `install -d -o postgres -g postgres "$1" && cd "$1" && bin=` + newestPostgres + ` &&
own() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; } &&
own "$bin/initdb" --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync --wal-segsize=1 &&
echo 'create database test' | own "$bin/postgres" --single -D data postgres`

// postgres does what is not asked for, such as collecting garbage, as late as it can be told to.
func postgres(at place) Group {
	g := one(Peer{User: "postgres", Choices: 1, VirtualClock: true, Command: []string{"sh", "-c", `exec ` + newestPostgres + `/postgres "$@"`, postgresReleases,
		"-D", at.own + "/data", "-h", "127.0.0.1", "-p", at.port, "-k", "",
		"-c", "shared_buffers=1MB", "-c", "max_connections=20",
		"-c", "shared_memory_type=mmap", "-c", "dynamic_shared_memory_type=mmap",
		"-c", "fsync=off", "-c", "autovacuum=off", "-c", "jit=off",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "checkpoint_timeout=1d",
		"-c", "wal_writer_delay=10s", "-c", "bgwriter_delay=10s", "-c", "bgwriter_lru_maxpages=0",
		"-c", "max_worker_processes=0", "-c", "max_logical_replication_workers=0",
	}})
	g.Prepare = []Preparation{{
		Path:     at.own,
		Command:  []string{"sh", "-c", makePostgres, postgresReleases, at.own},
		Programs: []string{postgresReleases + "/*/bin/initdb", postgresReleases + "/*/bin/postgres"},
	}}
	g.ReadyTimeout = slowStart
	return g
}

// slowStart is how long servers may take that do much when they start, on a machine that does other things.
const slowStart = 2 * time.Minute

// makeMariadb makes the tables of the server, and the database test, which is a directory.
const makeMariadb = `mkdir "$0" && mariadb-install-db --no-defaults --user=root --datadir="$0/data" --auth-root-authentication-method=normal --skip-test-db "$@" && mkdir "$0/data/test"`

// mariadb has the small files and caches of a database that holds next to nothing.
func mariadb(at place) Group {
	small := []string{
		"--innodb-log-file-size=4M", "--innodb-data-file-path=ibdata1:10M:autoextend", "--innodb-temp-data-file-path=ibtmp1:1M:autoextend",
	}
	g := one(Peer{Choices: 1, VirtualClock: true, Command: append(append([]string{"mariadbd", "--no-defaults", "--user=root"}, small...),
		"--datadir="+at.own+"/data", "--tmpdir="+at.own, "--socket="+at.own+"/socket", "--pid-file="+at.own+"/pid",
		"--bind-address=127.0.0.1", "--port="+at.port,
		"--innodb-use-native-aio=0", "--innodb-buffer-pool-size=8M",
		"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--innodb-stats-auto-recalc=0",
		"--performance-schema=0", "--key-buffer-size=64k", "--aria-pagecache-buffer-size=128k",
		"--wait-timeout=31536000", "--interactive-timeout=31536000")})
	g.Prepare = []Preparation{{
		Path:     at.own,
		Command:  append([]string{"sh", "-c", makeMariadb, at.own}, small...),
		Programs: []string{"/usr/bin/mariadb-install-db", "/usr/sbin/mariadbd"},
	}}
	g.ReadyTimeout = slowStart
	return g
}

// slapd keeps its entries in files, one for each: a database that is mapped into memory is more than needed.
func slapd(at place) Group {
	return one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"slapd", "-d", "none", "-f", at.own + "/slapd.conf", "-h", "ldap://127.0.0.1:" + at.port}},
		at.file("slapd.conf", 0o600,
			"include /etc/ldap/schema/core.schema",
			"include /etc/ldap/schema/cosine.schema",
			"include /etc/ldap/schema/inetorgperson.schema",
			"pidfile "+at.own+"/pid",
			"threads 2",
			"idletimeout 0",
			"database ldif",
			`suffix "dc=example,dc=test"`,
			`directory "`+at.own+`/data"`,
			`rootdn "cn=admin,dc=example,dc=test"`,
			"rootpw admin",
			"access to * by anonymous read by users read"),
		at.file("data/dc=example,dc=test.ldif", 0o600,
			"dn: dc=example,dc=test",
			"objectClass: top",
			"objectClass: dcObject",
			"objectClass: organization",
			"o: example",
			"dc: example",
			"structuralObjectClass: organization"))
}

// etcd counts ticks of the clock to elect a leader; a member that is alone elects itself within one.
func etcd(at place) Group {
	const peers = "http://127.0.0.1:2380"
	clients := "http://127.0.0.1:" + at.port
	return one(Peer{Env: []string{"GOMAXPROCS=1"}, Command: []string{"etcd", "--data-dir", at.own + "/data",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
		"--unsafe-no-fsync", "--logger", "zap", "--log-level", "warn"}})
}
