title: OpenSSH's server
program: /usr/sbin/sshd
package: openssh-server
port: 2222
ports: 22 2200
serves: the home directory of root, such as .ssh/authorized_keys
offers: the user root, with the password tandem or the key below
host keys: host_keys.pub
client key: client_key

# It wants a user sshd for the process that talks before a log-in, and an empty directory
# for it. Root plays that part: where CAP_SYS_RESOURCE is missing, CRIU cannot save processes
# of other users. -D: in the foreground; -e: log to standard error.
command: sh -c 'mkdir -p -m 755 /run/sshd && exec "$@"' sh /usr/sbin/sshd -D -e -f {own}/sshd_config
bind: /etc/passwd {own}/passwd
bind: /root {scratch}/root
bind: /etc/shadow {own}/shadow
-- sshd_config 0600 --
ListenAddress 127.0.0.1:{port}
HostKey {own}/host_key_ecdsa
HostKey {own}/host_key_ed25519
HostKey {own}/host_key_rsa
PidFile {own}/pid
LoginGraceTime 0
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PrintLastLog no
Subsystem sftp internal-sftp
-- passwd --
root:x:0:0:root:/root:/bin/sh
sshd:x:0:0:sshd:/run/sshd:/usr/sbin/nologin
-- host_key_ecdsa 0600 = host_key_ecdsa --
-- host_key_ed25519 0600 = host_key_ed25519 --
-- host_key_rsa 0600 = host_key_rsa --
-- shadow 0600 = shadow --
-- {scratch}/root/.ssh/authorized_keys 0600 = client_key.pub --
-- {scratch}/root/ --
