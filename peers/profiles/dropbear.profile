title: SSH server, a process for each connection
program: /usr/sbin/dropbear
package: dropbear-bin
port: 2222
serves: the home directory of root, such as .ssh/authorized_keys

# -F: in the foreground; -E: log to standard error.
command: dropbear -F -E -r {own}/host_key -P {own}/pid -p 127.0.0.1:{port}
bind: /root {scratch}/root
-- host_key 0600 = host_key.dropbear --
-- {scratch}/root/ --
