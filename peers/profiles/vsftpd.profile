title: FTP server, a process for each connection
program: /usr/sbin/vsftpd
package: vsftpd
port: 2121
ports: 21
serves: the files
offers: all files to read and write, to the user anonymous with any password

# A process for each connection, all as root. It makes data connections from any port.
# A client that is anonymous could write nothing. So anonymous is a user of the machine, whom
# PAM lets in. It wants a directory that nobody can write to, as are those of the machine.
command: vsftpd {own}/vsftpd.conf
behaviours: 1
clock: virtual
bind: /etc/pam.d/vsftpd {own}/pam
bind: /etc/passwd {own}/passwd
-- vsftpd.conf 0600 --
listen=YES
background=NO
listen_address=127.0.0.1
listen_port={port}
anonymous_enable=NO
local_enable=YES
chroot_local_user=YES
allow_writeable_chroot=YES
write_enable=YES
local_umask=022
secure_chroot_dir=/srv
nopriv_user=root
guest_username=root
ftp_username=root
session_support=NO
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
connect_from_port_20=NO
xferlog_enable=NO
idle_session_timeout=0
data_connection_timeout=0
-- passwd --
root:x:0:0:root:/root:/bin/sh
anonymous:x:0:0::{own}/files:/bin/sh
-- pam --
auth required pam_permit.so
account required pam_permit.so
session required pam_permit.so
-- files/ --
This file is served by a peer.
