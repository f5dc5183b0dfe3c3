title: SQL database, without fsync
program: /usr/sbin/mariadbd
package: mariadb-server
port: 3306
offers: an empty database test, and the user root without a password: root@tcp(127.0.0.1:3306)/test

# Small files and caches, for a database that holds next to nothing.
# A database is a directory: the last command makes that of test.
command: mariadbd --no-defaults --user=root --innodb-log-file-size=4M
  --innodb-data-file-path=ibdata1:10M:autoextend --innodb-temp-data-file-path=ibtmp1:1M:autoextend
  --datadir={own}/data --tmpdir={own} --socket={own}/socket --pid-file={own}/pid
  --bind-address=127.0.0.1 --port={port} --innodb-use-native-aio=0 --innodb-buffer-pool-size=8M
  --innodb-buffer-pool-dump-at-shutdown=0 --innodb-buffer-pool-load-at-startup=0
  --innodb-stats-auto-recalc=0 --performance-schema=0 --key-buffer-size=64k
  --aria-pagecache-buffer-size=128k --wait-timeout=31536000 --interactive-timeout=31536000
behaviours: 1
clock: virtual
prepare: {own}
prepare with: sh -c
  'mkdir "$0" && mariadb-install-db --no-defaults --user=root --datadir="$0/data" --auth-root-authentication-method=normal --skip-test-db "$@" && mkdir "$0/data/test"'
  {own} --innodb-log-file-size=4M --innodb-data-file-path=ibdata1:10M:autoextend
  --innodb-temp-data-file-path=ibtmp1:1M:autoextend
prepare from: /usr/bin/mariadb-install-db /usr/sbin/mariadbd
ready timeout: 2m
