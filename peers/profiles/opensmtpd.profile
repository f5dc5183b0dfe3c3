title: SMTP server
program: /usr/sbin/smtpd
package: opensmtpd
port: 2525
ports: 25 587 1025
offers: to take mail for anybody, which it keeps in {scratch}/NAME/mail

# It delivers what comes to a directory, whoever it is for. The users that it wants to run
# as are played by root: see sshd.profile.
command: smtpd -d -f {own}/smtpd.conf
behaviours: 1
bind: /etc/group {own}/group
bind: /etc/passwd {own}/passwd
bind: /var/spool {own}/spool
-- smtpd.conf 0600 --
listen on 127.0.0.1 port {port} hostname tandem
action "keep" maildir "{own}/mail" virtual { "@" = "root" }
match from any for any action "keep"
-- passwd --
root:x:0:0:root:/root:/bin/sh
opensmtpd:x:0:0::{own}/opensmtpd:/usr/sbin/nologin
opensmtpq:x:0:0::{own}/opensmtpq:/usr/sbin/nologin
-- group --
root:x:0:
opensmtpd:x:0:
opensmtpq:x:0:
