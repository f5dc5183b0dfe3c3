title: web server, one process
program: /usr/sbin/thttpd
advice: Debian does not have it: build it from https://acme.com/software/thttpd/, or take merecat,
  which descends from it
port: 8080
ports: 80
serves: the pages

# -D: in the foreground. The clock: see merecat.profile.
command: thttpd -D -C {own}/thttpd.conf
behaviours: 1
clock: virtual
-- thttpd.conf --
host=127.0.0.1
port={port}
dir={own}/www
user=root
nochroot
pidfile={own}/pid
logfile=/dev/null
-- www/ = page.html --
