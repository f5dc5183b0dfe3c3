title: OpenSSH's server
program: /usr/sbin/sshd
package: openssh-server
port: 2222
serves: the home directory of root, such as .ssh/authorized_keys

# It wants a user sshd for the process that talks before a log-in, and an empty directory
# for it. Root plays that part: where CAP_SYS_RESOURCE is missing, CRIU cannot save processes
# of other users. -D: in the foreground; -e: log to standard error.
command: sh -c 'mkdir -p -m 755 /run/sshd && exec "$@"' sh /usr/sbin/sshd -D -e -f {own}/sshd_config
bind: /etc/passwd {own}/passwd
bind: /root {scratch}/root
-- sshd_config 0600 --
ListenAddress 127.0.0.1:{port}
HostKey {own}/host_key
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
-- host_key 0600 = host_key --
-- {scratch}/root/ --
