title: the same, started by inetd for each connection
program: /usr/sbin/inetd
package: openbsd-inetd
port: 2222
serves: the home directory of root, such as .ssh/authorized_keys

# -i: in the foreground; -R 0: as many connections per minute as come.
command: inetd -i -R 0 {own}/inetd.conf
bind: /root {scratch}/root
-- inetd.conf --
127.0.0.1:{port} stream tcp nowait root /usr/sbin/dropbear dropbear -i -r {own}/host_key
-- host_key 0600 = host_key.dropbear --
-- {scratch}/root/ --
