title: SSH server, a process for each connection
program: /usr/sbin/dropbear
package: dropbear-bin
port: 2222
ports: 22 2200
preferred: yes
serves: the home directory of root, such as .ssh/authorized_keys
offers: the user root, with the password tandem or the key below
host keys: host_keys.pub
client key: client_key

# -F: in the foreground; -E: log to standard error. The password is in the list that the group has
# in the place of the machine's, so that nobody's own is of any use.
command: dropbear -F -E -r {own}/host_key_ecdsa -r {own}/host_key_ed25519 -r {own}/host_key_rsa
  -P {own}/pid -p 127.0.0.1:{port}
bind: /root {scratch}/root
bind: /etc/shadow {own}/shadow
-- host_key_ecdsa 0600 = host_key_ecdsa.dropbear --
-- host_key_ed25519 0600 = host_key_ed25519.dropbear --
-- host_key_rsa 0600 = host_key_rsa.dropbear --
-- shadow 0600 = shadow --
-- {scratch}/root/.ssh/authorized_keys 0600 = client_key.pub --
-- {scratch}/root/ --
