title: the same, started by inetd for each connection
program: /usr/sbin/inetd
package: openbsd-inetd
port: 2222
ports: 22 2200
serves: the home directory of root, such as .ssh/authorized_keys
offers: the user root, with the password tandem or the key below
host keys: host_keys.pub
client key: client_key

# -i: in the foreground; -R 0: as many connections per minute as come.
command: inetd -i -R 0 {own}/inetd.conf
bind: /root {scratch}/root
bind: /etc/shadow {own}/shadow
-- inetd.conf --
127.0.0.1:{port} stream tcp nowait root /usr/sbin/dropbear dropbear -i -r {own}/host_key_ecdsa -r {own}/host_key_ed25519 -r {own}/host_key_rsa
-- host_key_ecdsa 0600 = host_key_ecdsa.dropbear --
-- host_key_ed25519 0600 = host_key_ed25519.dropbear --
-- host_key_rsa 0600 = host_key_rsa.dropbear --
-- shadow 0600 = shadow --
-- {scratch}/root/.ssh/authorized_keys 0600 = client_key.pub --
-- {scratch}/root/ --
