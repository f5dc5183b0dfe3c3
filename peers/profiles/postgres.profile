title: SQL database, without fsync
program: /usr/lib/postgresql
package: postgresql
port: 5432
offers: an empty database test, and the user postgres with any password:
  postgres://postgres@127.0.0.1:5432/test

# Housekeeping that nobody asked for, such as vacuum, comes as late as it can be told to.
# The programs are those of the newest release that is installed. The cluster, and the
# database test in it, are made without a server. PostgreSQL refuses to run as root.
command: sh -c 'exec "$(ls -d "$0"/*/bin | sort -V | tail -n 1)"/postgres "$@"' /usr/lib/postgresql
  -D {own}/data -h 127.0.0.1 -p {port} -k ''
  -c shared_buffers=1MB -c max_connections=20
  -c shared_memory_type=mmap -c dynamic_shared_memory_type=mmap
  -c fsync=off -c autovacuum=off -c jit=off
  -c wal_level=minimal -c max_wal_senders=0 -c checkpoint_timeout=1d
  -c wal_writer_delay=10s -c bgwriter_delay=10s -c bgwriter_lru_maxpages=0
  -c max_worker_processes=0 -c max_logical_replication_workers=0
user: postgres
behaviours: 1
clock: virtual
prepare: {own}
prepare with: sh -c
  `install -d -o postgres -g postgres "$1" && cd "$1" && bin="$(ls -d "$0"/*/bin | sort -V | tail -n 1)" &&
  own() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; } &&
  own "$bin/initdb" --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync --wal-segsize=1 &&
  echo 'create database test' | own "$bin/postgres" --single -D data postgres`
  /usr/lib/postgresql {own}
prepare from: /usr/lib/postgresql/*/bin/initdb /usr/lib/postgresql/*/bin/postgres
ready timeout: 2m
