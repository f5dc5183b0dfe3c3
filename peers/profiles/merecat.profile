title: web server, one process, descended from thttpd
program: /usr/sbin/merecat
package: merecat
port: 8080
ports: 80 8000 8888
preferred: yes
serves: the pages

# It closes a connection on which nothing has come for some seconds by the wall clock,
# which a restore does not turn back. So it has a clock of its own.
command: merecat -n -f {own}/merecat.conf -P {own}/pid -p {port} {own}/www
behaviours: 1
clock: virtual
-- merecat.conf --
username = root
chroot = false
hostname = 127.0.0.1
-- www/ = page.html --
