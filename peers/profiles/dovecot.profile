title: server of IMAP, and of POP3 at port 1110
program: /usr/sbin/dovecot
package: dovecot-imapd
port: 1143
ports: 143
offers: mailboxes of all users, with the password "secret"

# Mail is in a directory of each user. All processes run as one user:
# those that talk before a log-in refuse to run as root. Version 2.4 calls much by other names.
command: sh -c 'case $(dovecot --version) in 2.3.*) exec dovecot -F -c "$0" ;; *) exec dovecot -F -c "$1" ;; esac'
  {own}/dovecot-2.3.conf {own}/dovecot.conf
user: dovecot
behaviours: 1
clock: virtual
ready timeout: 2m
-- dovecot-2.3.conf --
base_dir = {own}/run
state_dir = {own}/state
protocols = imap pop3
listen = 127.0.0.1
log_path = /dev/stderr
ssl = no
disable_plaintext_auth = no
default_internal_user = dovecot
default_internal_group = dovecot
default_login_user = dovecot
first_valid_uid = 1
mail_location = maildir:~/mail
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=dovecot gid=dovecot home={own}/home/%u
}
service anvil {
  chroot =
}
service imap-login {
  chroot =
  service_count = 0
  inet_listener imap {
    port = {port}
  }
  inet_listener imaps {
    port = 0
  }
}
service pop3-login {
  chroot =
  service_count = 0
  inet_listener pop3 {
    port = 1110
  }
  inet_listener pop3s {
    port = 0
  }
}
-- dovecot.conf --
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
base_dir = {own}/run
state_dir = {own}/state
protocols = imap pop3
listen = 127.0.0.1
log_path = /dev/stderr
ssl = no
auth_allow_cleartext = yes
default_internal_user = dovecot
default_internal_group = dovecot
default_login_user = dovecot
first_valid_uid = 1
mail_driver = maildir
mail_path = ~/mail
passdb static {
  password = secret
}
userdb static {
  fields {
    uid = dovecot
    gid = dovecot
    home = {own}/home/%{user}
  }
}
service anvil {
  chroot =
}
service imap-login {
  chroot =
  restart_request_count = unlimited
  inet_listener imap {
    port = {port}
  }
  inet_listener imaps {
    port = 0
  }
}
service pop3-login {
  chroot =
  restart_request_count = unlimited
  inet_listener pop3 {
    port = 1110
  }
  inet_listener pop3s {
    port = 0
  }
}
