package peers

// Profiles of name servers. Each knows a.example.test, 10.0.0.1, and b.example.test, 10.0.0.2.

// dnsmasq has a process of its own for each connection over TCP.
func dnsmasq(at place) Group {
	return one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"dnsmasq", "--conf-file=/dev/null", "--keep-in-foreground", "--user=root", "--group=root", "--pid-file", "--log-facility=-",
			"--port=" + at.port, "--listen-address=127.0.0.1", "--bind-interfaces",
			"--no-resolv", "--no-hosts", "--addn-hosts=" + at.own + "/hosts", "--local=/example.test/"}},
		at.file("hosts", 0o644, "10.0.0.1 a.example.test", "10.0.0.2 b.example.test"))
}

func unbound(at place) Group {
	return one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"unbound", "-d", "-c", at.own + "/unbound.conf"}},
		at.file("unbound.conf", 0o644,
			"server:",
			"  interface: 127.0.0.1@"+at.port,
			"  do-daemonize: no",
			"  num-threads: 1",
			`  username: ""`,
			`  chroot: ""`,
			`  pidfile: ""`,
			`  directory: "`+at.own+`"`,
			"  use-syslog: no",
			`  module-config: "iterator"`,
			"  tcp-idle-timeout: 86400000",
			"  include: "+at.own+"/records.conf",
			"remote-control:",
			"  control-enable: no"),
		at.file("records.conf", 0o644,
			`local-zone: "example.test." static`,
			`local-data: "a.example.test. A 10.0.0.1"`,
			`local-data: "b.example.test. A 10.0.0.2"`))
}

// -g: in the foreground, log to standard error; -n: so many threads.
func bind(at place) Group {
	return one(
		Peer{VirtualClock: true, Command: []string{"named", "-g", "-u", "root", "-n", "1", "-c", at.own + "/named.conf"}},
		at.file("named.conf", 0o644,
			"options {",
			`  directory "`+at.own+`";`,
			"  listen-on port "+at.port+" { 127.0.0.1; };",
			"  listen-on-v6 { none; };",
			"  pid-file none;",
			"  session-keyfile none;",
			"  recursion no;",
			"  notify no;",
			"  tcp-idle-timeout 1200;",
			"};",
			"controls { };",
			`zone "example.test" { type primary; file "zone"; };`),
		at.file("zone", 0o644,
			"$TTL 60",
			"@ IN SOA ns root 1 60 60 60 60",
			"  IN NS ns",
			"ns IN A 127.0.0.1",
			"a IN A 10.0.0.1",
			"b IN A 10.0.0.2"))
}
