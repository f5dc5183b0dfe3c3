package peers

import "maps"

// Profiles of mail servers.

// withUsers has users that a server wants to be run as play root, as sshd does: see there. Their home
// is the peer's directory.
func withUsers(at place, g Group, names ...string) Group {
	users, groups := []string{"root:x:0:0:root:/root:/bin/sh"}, []string{"root:x:0:"}
	for _, name := range names {
		users = append(users, name+":x:0:0::"+at.own+"/"+name+":/usr/sbin/nologin")
		groups = append(groups, name+":x:0:")
	}
	g.Files = append(g.Files, at.file("passwd", 0o644, users...), at.file("group", 0o644, groups...))
	maps.Copy(g.Binds, map[string]string{"/etc/passwd": at.own + "/passwd", "/etc/group": at.own + "/group"})
	return g
}

// opensmtpd delivers what comes to a directory, whoever it is for.
func opensmtpd(at place) Group {
	g := withUsers(at, one(
		Peer{Choices: 1, Command: []string{"smtpd", "-d", "-f", at.own + "/smtpd.conf"}},
		at.file("smtpd.conf", 0o600,
			"listen on 127.0.0.1 port "+at.port+" hostname tandem",
			`action "keep" maildir "`+at.own+`/mail" virtual { "@" = "root" }`,
			`match from any for any action "keep"`)),
		"opensmtpd", "opensmtpq")
	g.Binds["/var/spool"] = at.own + "/spool"
	return g
}

// dovecot has any users, with the password "secret", and mail in a directory of each. Its processes are all of
// one user: those that talk before there is a log-in refuse to be root's.
func dovecot(at place) Group {
	const user = "dovecot"
	g := one(
		Peer{User: user, Choices: 1, VirtualClock: true, Command: []string{"dovecot", "-F", "-c", at.own + "/dovecot.conf"}},
		at.file("dovecot.conf", 0o644,
			"base_dir = "+at.own+"/run",
			"state_dir = "+at.own+"/state",
			"protocols = imap pop3",
			"listen = 127.0.0.1",
			"log_path = /dev/stderr",
			"ssl = no",
			"disable_plaintext_auth = no",
			"default_internal_user = "+user,
			"default_internal_group = "+user,
			"default_login_user = "+user,
			"first_valid_uid = 1",
			"mail_location = maildir:~/mail",
			"passdb {",
			"  driver = static",
			"  args = password=secret",
			"}",
			"userdb {",
			"  driver = static",
			"  args = uid="+user+" gid="+user+" home="+at.own+"/home/%u",
			"}",
			"service anvil {",
			"  chroot =",
			"}",
			"service imap-login {",
			"  chroot =",
			"  service_count = 0",
			"  inet_listener imap {",
			"    port = "+at.port,
			"  }",
			"  inet_listener imaps {",
			"    port = 0",
			"  }",
			"}",
			"service pop3-login {",
			"  chroot =",
			"  service_count = 0",
			"  inet_listener pop3 {",
			"    port = 1110",
			"  }",
			"  inet_listener pop3s {",
			"    port = 0",
			"  }",
			"}"))
	g.ReadyTimeout = slowStart
	return g
}
